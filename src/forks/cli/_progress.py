"""What `forks run` shows while it learns: on stderr, a live line on a terminal, or plain lines."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from forks.cli._position import bytes_read
from forks.cli._report import line

Show = Callable[[dict[str, Any]], None]


class Pace:
    """Rows per second, and the time left where the end of the file is known.

    `every` is the number of rows between records. What a run that goes on from a checkpoint had
    learned before does not count: it is what the first record has above `every` rows.
    """

    def __init__(self, path: str, every: int) -> None:
        self.path, self.every = path, every
        self.size = os.path.getsize(path) if os.path.isfile(path) else 0
        self.start = time.perf_counter()
        self.before: int | None = None
        self.rows_per_second = 0.0

    def record(self, rows: int) -> None:
        """Note that so many rows have been learned."""
        if self.before is None:
            self.before = max(0, rows - self.every)
        self.rows_per_second = (rows - self.before) / self._seconds()

    def text(self) -> str:
        """Return rows per second, and the time left."""
        text = f"{self.rows_per_second:,.0f} rows/s" if self.rows_per_second else ""
        read = bytes_read(self.path) if self.size else None
        if not read:
            return text
        share = min(1.0, read / self.size)
        left = _duration(self._seconds() * (1.0 - share) / share)
        return f"{text}{', ' if text else ''}{share:.0%} read, {left} left"

    def _seconds(self) -> float:
        return max(time.perf_counter() - self.start, 1e-9)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress(path: str, every: int, wanted: bool | None) -> Iterator[Show]:
    """Return what shows records.

    `wanted` is False for no word, True for speed and time left also where stderr is no terminal.
    There, the last record has no line: what a run ends with has its figures.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if wanted is False:
        yield lambda figures: None
    elif console.is_terminal:
        with _live(console, Pace(path, every)) as show:
            yield show
    else:
        yield _lines(Pace(path, every), bool(wanted))


def _lines(pace: Pace, with_pace: bool) -> Show:
    def show(figures: dict[str, Any]) -> None:
        pace.record(figures["rows"])
        if figures["rows"] % pace.every == 0:
            more = f", {pace.text()}" if with_pace else ""
            typer.echo(f"{line(figures)}{more}", err=True)

    return show


@contextmanager
def _live(console: Any, pace: Pace) -> Iterator[Show]:
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class PaceColumn(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(pace.text(), style="dim")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), PaceColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as live:
        task = live.add_task("learning")

        def show(figures: dict[str, Any]) -> None:
            pace.record(figures["rows"])
            live.update(task, description=line(figures))

        yield show
