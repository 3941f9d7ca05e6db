"""A report as a list of blocks, and its two renderings: Markdown and HTML.

Text in blocks is plain but for three marks of Markdown: **bold**, `code` and [text](address).
"""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the document's own."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table; its first `n_names` columns are names, set flush left, the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int = 1


@dataclass(frozen=True)
class Picture:
    """A PNG file beside the document."""

    title: str
    file: str


Block: TypeAlias = Heading | Paragraph | Bullets | Table | Picture


def to_markdown(blocks: Sequence[Block]) -> str:
    """Write a document as Markdown."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(header, rows, n_names):
            rule = ["---" if i < n_names else "--:" for i in range(len(header))]
            lines = [header, rule, *([_cell(text) for text in row] for row in rows)]
            return "\n".join(
                "|" + "".join(f" {text} |" if text else " |" for text in line) for line in lines
            )
        case Picture(title, file):
            return f"![{title}]({file})"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


_STYLE = """
:root { color-scheme: light dark; --ink: #22262b; --paper: #fff; --line: #d5d9de; --quiet: #f4f6f8 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde1e6; --paper: #16191d; --line: #3a4048; --quiet: #20242a }
}
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif }
h1, h2, h3 { line-height: 1.2; margin: 2em 0 .6em }
h1 { margin-top: 0 }
p { max-width: 46rem }
.table { overflow-x: auto }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }
th, td { padding: .3em .7em; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap }
th { vertical-align: bottom; white-space: normal; background: var(--quiet) }
th.name, td.name { text-align: left }
code { background: var(--quiet); padding: .1em .3em; border-radius: .2em }
img { max-width: 100%; background: #fff }
""".strip()


def to_html(blocks: Sequence[Block], folder: Path) -> str:
    """Write a document as one HTML page that needs no other file.

    Parameters
    ----------
    blocks : sequence of Block
    folder : path
        Where the pictures are, which the page takes in.
    """
    title = next(block.text for block in blocks if isinstance(block, Heading))
    head = f'<meta charset="utf-8">\n<title>{html.escape(title)}</title>'
    width = '<meta name="viewport" content="width=device-width">'
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n{width}\n<style>\n{_STYLE}\n</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Table(header, rows, n_names):
            head = _html_row("th", header, n_names)
            body = "\n".join(_html_row("td", row, n_names) for row in rows)
            return (
                f'<div class="table"><table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n'
                "</table></div>"
            )
        case Picture(title, file):
            data = base64.b64encode((folder / file).read_bytes()).decode()
            return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'


def _html_row(tag: str, cells: Sequence[str], n_names: int) -> str:
    kinds = [' class="name"' if i < n_names else "" for i in range(len(cells))]
    told = (f"<{tag}{k}>{_inline(c)}</{tag}>" for k, c in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(told)}</tr>"


def _inline(text: str) -> str:
    """Escape, and turn the marks into tags; nothing inside `code` is a mark."""
    parts = re.split(r"`([^`]+)`", html.escape(text))
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"<code>{part}</code>"
        else:
            bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", part)
            parts[i] = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', bold)
    return "".join(parts)
