"""What `forks run` shows while it learns: on stderr, a live line on a terminal, or plain lines."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

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
        read = _bytes_read(self.path) if self.size else None
        if not read:
            return text
        share = min(1.0, read / self.size)
        left = _duration(self._seconds() * (1.0 - share) / share)
        return f"{text}{', ' if text else ''}{share:.0%} read, {left} left"

    def _seconds(self) -> float:
        return max(time.perf_counter() - self.start, 1e-9)


def _bytes_read(path: str) -> int | None:
    """Return how far this process has read a file, which Linux tells; None if it is not known.

    So readers need not keep count, and it is right for compressed files, too.
    """
    try:
        wanted = os.stat(path)
        for number in os.listdir("/proc/self/fd"):
            position = _position(number, wanted)
            if position is not None:
                return position
    except OSError:
        pass
    return None


def _position(number: str, wanted: os.stat_result) -> int | None:
    """Return the position of a file descriptor, None if it is of another file."""
    try:
        if not os.path.samestat(os.fstat(int(number)), wanted):
            return None
        lines = Path(f"/proc/self/fdinfo/{number}").read_text().splitlines()
    except OSError:  # it has been closed in the meantime
        return None
    (line,) = (line for line in lines if line.startswith("pos:"))
    return int(line.split()[1])


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress(path: str, every: int, wanted: bool | None) -> Iterator[Show]:
    """Return what shows records.

    `wanted` is False for no word, True for speed and time left also where stderr is no terminal.
    There, a record at the very end has no line if stdout goes to the same place: what a run ends
    with has its figures.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if wanted is False:
        yield lambda figures: None
    elif console.is_terminal:
        with _live(console, Pace(path, every)) as show:
            yield show
    else:
        with _lines(Pace(path, every), bool(wanted), held=_one_place()) as show:
            yield show


@contextmanager
def _lines(pace: Pace, with_pace: bool, held: bool) -> Iterator[Show]:
    """Return what prints a line a record; a line that is held comes with the next record.

    The last one does not come at all then, unless an error ends the run.
    """
    waiting: list[str] = []

    def show(figures: dict[str, Any]) -> None:
        pace.record(figures["rows"])
        flush()
        if figures["rows"] % pace.every == 0:
            more = f", {pace.text()}" if with_pace else ""
            waiting.append(f"{line(figures)}{more}")
            if not held:
                flush()

    def flush() -> None:
        while waiting:
            typer.echo(waiting.pop(), err=True)

    try:
        yield show
    except BaseException:
        flush()
        raise


def _one_place() -> bool:
    """Return whether stdout and stderr go to the same file or pipe, as with `2>&1`."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # not even files
        return False


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
