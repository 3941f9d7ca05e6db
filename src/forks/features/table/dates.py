"""Dates and times that are written as text.

The year comes first, as in 2013-03-01, 2013/03/01 or 2013-03-01T05:00Z, or last, as in 31.12.2013,
12/31/2013 5:00 or 31-12-2013 05:00:30. Where it is last, the day or the month comes first, which is
one and the same in all of a column: a part above 12 tells it.
"""

import datetime
import re
from collections.abc import Iterable

DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
ORDERS = (DAY_FIRST, MONTH_FIRST)
_YEAR_FIRST = re.compile(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)")
_YEAR_LAST = re.compile(
    r"\s*(\d{1,2})([./-])(\d{1,2})\2([12]\d{3})"
    r"(?:(?:T|,?\s+)(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,9})?))?"
    r"(?:\s*([AP])\.?M\.?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?\s*",
    re.ASCII | re.IGNORECASE,
)


def is_like_a_date(text: str) -> bool:
    """Return whether a text has the form of a date, though perhaps of one that there is not."""
    return bool(_YEAR_FIRST.match(text) or _YEAR_LAST.fullmatch(text))


def order_of(texts: Iterable[str]) -> tuple[str, bool]:
    """Return the order in which dates are written, and whether they show it.

    The order is "" if no date has its year last. If nothing shows whether the day or the month is
    first, the day is, as in most of the world.
    """
    found, day, month = False, 0, 0
    for text in set(texts):
        if match := _YEAR_LAST.fullmatch(text):
            found = True
            day += int(match[1]) > 12
            month += int(match[3]) > 12
    if not found:
        return "", True
    return MONTH_FIRST if month > day else DAY_FIRST, bool(day or month)


def time_of_text(text: str, order: str = "") -> datetime.datetime:
    """Return the time that a text stands for; raise `ValueError` if it is none."""
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        return _year_first(text)
    if not order:
        raise ValueError
    first, _, second, year, hour, minute, seconds, half, zone = match.groups()
    day, month = (first, second) if order == DAY_FIRST else (second, first)
    iso = f"{year}-{month:0>2}-{day:0>2}"
    if hour is None:
        return datetime.datetime.fromisoformat(iso)
    if half is not None:
        hour = str(_of_24(int(hour), half.upper()))
    zone = {"Z": "Z", "UTC": "Z", "": ""}.get((zone or "").upper(), zone)
    return datetime.datetime.fromisoformat(f"{iso}T{hour:0>2}:{minute}:{seconds or '00'}{zone}")


def _year_first(text: str) -> datetime.datetime:
    text = text.strip().replace("/", "-")
    day, _, rest = text.partition("T" if "T" in text else " ")
    parts = [part.zfill(2) for part in day.split("-")]
    return datetime.datetime.fromisoformat("-".join(parts) + (f"T{rest}" if rest else ""))


def _of_24(hour: int, half: str) -> int:
    """Return the hour of the day, of one before or after noon."""
    if not 1 <= hour <= 12:
        raise ValueError
    return hour % 12 + (12 if half == "P" else 0)
