"""Options about the files that `forks run` and `forks predict` read."""

from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

from forks.cli._app import NOTHING, count_option, text_option

FILE = typer.Argument(
    metavar="FILE",
    help="Files, folders or patterns, one stream: {endings}. Others are looked into. Text may be "
    "compressed. - for stdin. Or a stream of a broker: nats://host:port/stream, "
    "kafka://broker:port/topic.",
)
FORMAT = typer.Option(
    metavar="FORMAT",
    help="{formats}. [default: by name or contents]",
    autocompletion=lambda incomplete: starting(_formats(), incomplete),
)


def _formats() -> list[str]:
    from forks.streams.formats import FORMATS

    return list(FORMATS)


def dataset_names() -> list[str]:
    """Return the names of all benchmark data sets."""
    from forks.datasets import names

    return names(None)


def starting(words: list[str], incomplete: str) -> list[str]:
    """Return the words that a value which is being typed may become."""
    return [word for word in words if word.lower().startswith(incomplete.lower())]


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Options about how files are written."""

    format: Annotated[str | None, FORMAT] = None
    na: Annotated[
        list[str],
        text_option("WORD", "A missing value, beside NA, NaN, null, None, ?; again for more."),
    ] = NOTHING
    delimiter: Annotated[
        str | None,
        text_option("CHAR", "Between cells: a character, tab or space. [default: found]"),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Does the first row have names? [default: found]"
        ),
    ] = None
    decimal: Annotated[
        str | None, text_option("CHAR", "Decimal point, . or a comma. [default: found]")
    ] = None
    encoding: Annotated[
        str | None, text_option("NAME", "Of text: utf-8, latin-1, ... [default: found]")
    ] = None
    features: Annotated[
        int | None, count_option("Width of LIBSVM rows; needed for those from stdin.")
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option("--zero-based/--one-based", help="Indices of LIBSVM rows. [default: found]"),
    ] = None
    chunk: Annotated[int, count_option("Rows read at a time; the first are looked at.")] = 10_000


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Options about columns; names may be patterns."""

    label: Annotated[
        str | None, text_option("COLUMN", "Column of the labels. [default: the last]")
    ] = None
    weights: Annotated[str | None, text_option("COLUMN", "Column of weights of rows.")] = None
    drop: Annotated[
        list[str], text_option("COLUMN", "Leave out a column, or a pattern such as 'id_*'.")
    ] = NOTHING
    only: Annotated[list[str], text_option("COLUMN", "Use these columns alone.")] = NOTHING
    numeric: Annotated[list[str], text_option("COLUMN", "A column of numbers.")] = NOTHING
    categorical: Annotated[list[str], text_option("COLUMN", "A column of categories.")] = NOTHING
    time: Annotated[list[str], text_option("COLUMN", "A column of dates or times.")] = NOTHING
    day_first: Annotated[
        list[str], text_option("COLUMN", "A column of dates such as 31/12/2024. [default: found]")
    ] = NOTHING
    month_first: Annotated[
        list[str], text_option("COLUMN", "A column of dates such as 12/31/2024. [default: found]")
    ] = NOTHING
    text: Annotated[list[str], text_option("COLUMN", "A column of words.")] = NOTHING
    hash_bits: Annotated[
        int, count_option("Words are hashed into 2^BITS features.", at_most=24)
    ] = 8


@dataclass(frozen=True, kw_only=True)
class Following:
    """Options about streams of a broker."""

    until_end: Annotated[
        bool,
        typer.Option("--until-end", help="End with what a stream has at the start: no waiting."),
    ] = False
    first: Annotated[int, count_option("Rows of a stream that are looked at first.")] = 100
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Skip messages that are no JSON objects; cells that are no numbers are missing.",
        ),
    ] = False


def given(options: Any, kind: type) -> list[str]:
    """Return the options of a dataclass, one of the options' bases, that were given."""
    found = []
    for field in fields(kind):
        default = () if field.default is MISSING else field.default
        value = getattr(options, field.name)
        if value != default and not (isinstance(value, list) and not value):
            found.append(_option_of(kind, field.name))
    return found


def _option_of(kind: type, name: str) -> str:
    """Return how the option of a field is written."""
    (option, *_) = get_type_hints(kind, include_extras=True)[name].__metadata__
    first = option.default  # where typer keeps the first name that it is given
    named = isinstance(first, str) and first.startswith("--")
    return first.split("/")[0] if named else f"--{name.replace('_', '-')}"
