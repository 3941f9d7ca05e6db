"""Reports: a list of blocks of Markdown, written as a Markdown file and as an HTML page.

A block is text (a paragraph, a heading, a list, a picture) or a `Table`.
"""

import base64
import csv
import html
import inspect
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as TerminalTable

from forks.experiments.record import Item, reason_of
from forks.experiments.style import PAGE
from forks.files import write_atomically


class Table(NamedTuple):
    """A table, for a report (`str`) and for the terminal (rich prints it)."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int = 1  # columns of names, set flush left; the others are numbers
    blank: str = ""  # of an empty cell

    def __str__(self) -> str:
        rule = ["---" if i < self.n_names else "--:" for i in range(len(self.header))]
        lines = [map(_escaped, self.header), rule, *(map(_escaped, row) for row in self.rows)]
        return "\n".join(
            "|" + "".join(f" {text} |" if text else f" {self.blank}|" for text in line)
            for line in lines
        )

    def __rich__(self) -> TerminalTable:
        table = TerminalTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for i, heading in enumerate(self.header):
            table.add_column(heading, justify="left" if i < self.n_names else "right")
        for row in self.rows:
            table.add_row(*row)
        return table


Block = str | Table
_WIDE = 1000  # columns where there is no terminal


def plain_console() -> Console:
    """Return what tables are printed on: the terminal, or a page so wide that nothing is cut."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def bullets(items: Iterable[str]) -> str:
    """Return a list of items."""
    return "\n".join(f"- {item}" for item in items)


def plus_minus(mean: float, deviation: float, digits: int = 2) -> str:
    """Return a mean with its deviation."""
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def csv_text(header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV; None is an empty cell."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def title_and_text(doc: str | None) -> tuple[str, str]:
    """Return the first line of a docstring without its full stop, and the rest as one line."""
    title, _, text = inspect.cleandoc(doc or "").partition("\n")
    return title.removesuffix("."), " ".join(text.split())


def with_progress(
    items: Iterable[Item], total: int, console: Console, name: Callable[[Any], str], first: str = ""
) -> Iterator[Item]:
    """Yield the items, on a terminal under a bar that names the last one."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
    with progress if console.is_terminal else nullcontext():
        bar = progress.add_task(first, total=total)
        for item in items:
            progress.update(bar, advance=1, description=name(item))
            yield item


class Section(NamedTuple):
    """What a report has of one experiment."""

    name: str
    doc: str | None  # title and text
    blocks: Sequence[Block]  # tables, and what is said about them
    draw: Callable[[], Any] | None = None  # makes the figure
    last: Sequence[Block] = ()  # after the figure
    csv: str = ""


def write_report(folder: Path, opening: Sequence[Block], sections: Iterable[Section]) -> None:
    """Write report.md, report.html, and the pictures and CSV files of the sections.

    A figure that cannot be drawn is a line with the reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    blocks = list(opening)
    for section in sections:
        title, text = title_and_text(section.doc)
        blocks += [f"## {title}", text, *section.blocks]
        if section.draw is not None:
            blocks.append(_picture(folder, section.name, title, section.draw))
        if section.csv:
            write_atomically(folder / f"{section.name}.csv", section.csv.encode())
        blocks += section.last
    markdown = to_markdown(blocks)
    write_atomically(folder / "report.html", to_html(markdown, folder).encode())
    write_atomically(folder / "report.md", markdown.encode())


def _picture(folder: Path, name: str, title: str, draw: Callable[[], Any]) -> str:
    picture = io.BytesIO()
    try:
        draw().savefig(picture, format="png")
    except Exception as error:
        return f"No picture: {reason_of(error)}"
    write_atomically(folder / f"{name}.png", picture.getvalue())
    return f"![{title}]({name}.png)"


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return a document as Markdown."""
    return "\n\n".join(str(block) for block in blocks if block) + "\n"


def to_html(markdown: str, folder: Path) -> str:
    """Return a document, which begins with its title, as an HTML page that needs no other file.

    The page takes in the pictures, which are in the folder.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for part in [child for token in tokens for child in token.children or ()]:
        if part.type == "image":
            picture = (folder / str(part.attrs["src"])).read_bytes()
            part.attrs["src"] = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    title = html.escape(markdown.splitlines()[0].removeprefix("# "))
    head = f'<meta charset="utf-8">\n<title>{title}</title>'
    width = '<meta name="viewport" content="width=device-width">'
    body = parser.renderer.render(tokens, parser.options, {})
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n{width}\n<style>\n{PAGE}\n</style>\n'
        f"</head>\n<body>\n{body}</body>\n</html>\n"
    )
