"""The chapters of the reproduction, each an experiment in a file of its own.

The first line of a file's docstring is the chapter's title, the rest its text; `CHAPTER` at the end
has the plan, the tables and the picture. `NAMES` is the list of them all, which the command line
reads: nothing else is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from forks.experiments.record import Record
    from forks.experiments.report import Block
    from forks.experiments.reproduce.runs import Run

NAMES = (
    "table1",
    "adversarial",
    "theta",
    "updates",
    "tisvd",
    "experts",
    "defaults",
    "flights",
    "kuairec",
)


class Chapter(NamedTuple):
    """An experiment: what is played, and what the report has of its records."""

    doc: str | None  # title and text
    plan: Callable[..., Iterable[Run]]  # the parameters say how much; the defaults are all of it
    tables: Callable[[Sequence[Record]], list[Block]]  # of the runs that succeeded
    quick: Mapping[str, Any] = {}  # parameters of a quick reproduction
    draw: Callable[[Sequence[Record]], Any] | None = None
    csv: Callable[[Sequence[Record]], str] | None = None


def chapter(name: str) -> Chapter:
    """Return a chapter by its name."""
    return import_module(f"{__name__}.{name}").CHAPTER
