"""What `forks info` says of the columns of a table, one line each."""

from typing import Any

_MOST = 40  # columns
_ROOM = 60  # characters of the values of a category


def column_lines(columns: list[dict[str, Any]]) -> list[str]:
    """Return name, kind and what is known of columns, as JSON has them; of very many the first."""
    shown = columns[:_MOST]
    names = max((len(column["name"]) for column in shown), default=0)
    lines = [f"  {c['name']:<{names}}  {_kind(c):<8}  {_known(c)}".rstrip() for c in shown]
    more = len(columns) - len(shown)
    return [*lines, f"  and {more:,} more (--json has all)"] if more else lines


def _kind(column: dict[str, Any]) -> str:
    kind = str(column["kind"])
    return "left out" if kind in ("identifier", "dropped") else kind


def _known(column: dict[str, Any]) -> str:
    """Return ranges, values or times; otherwise why the column is what it is."""
    if "least" in column:
        least, largest = (f"{column[end]:.6g}" for end in ("least", "largest"))
        return least if least == largest else f"{least} to {largest}"
    if "first" in column:
        return f"{_date(column['first'])} to {_date(column['last'])}"
    if "values" in column:
        return _some(column["values"])
    if "kept_values" in column:
        return f"{column['kept_values']:,} values are kept"
    return "" if column["why"] in ("told", "numbers") else str(column["why"])


def _some(values: list[str]) -> str:
    """Return the values of a category, as many as there is room for."""
    words = [value or "missing" for value in values]
    n = len(words)
    while n > 1 and len(", ".join(words[:n])) > _ROOM:
        n -= 1
    rest = len(words) - n
    return ", ".join(words[:n]) + (f", and {rest:,} more" if rest else "")


def _date(text: str) -> str:
    """Return a time without an hour at midnight."""
    return text.removesuffix("T00:00:00").replace("T", " ")
