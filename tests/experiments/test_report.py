"""Reports: tables, Markdown, the page, pictures."""

import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from forks.experiments.report import (
    Section,
    Table,
    bullets,
    csv_text,
    title_and_text,
    to_html,
    to_markdown,
    write_report,
)

TABLE = Table(["", "x", "y"], [["one", "1", ""], ["a|b", "", "**2**"]])
BLOCKS = [
    "# Rates & times",
    "Made by `a < b **c**`, **bold**, [a link](page.md).",
    TABLE,
    bullets(["first", "second"]),
    "![A picture](p.png)",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.png").write_bytes(b"\x89PNG and more")
    return tmp_path


def test_markdown():
    assert to_markdown(BLOCKS) == (
        "# Rates & times\n\n"
        "Made by `a < b **c**`, **bold**, [a link](page.md).\n\n"
        "| | x | y |\n| --- | --: | --: |\n| one | 1 | |\n| a\\|b | | **2** |\n\n"
        "- first\n- second\n\n"
        "![A picture](p.png)\n"
    )


def test_a_table_is_printed_on_the_terminal():
    console = Console(file=io.StringIO(), width=40)
    console.print(TABLE)
    assert console.file.getvalue().split() == ["x", "y", "one", "1", "a|b", "**2**"]


def test_html_is_escaped_and_complete(folder):
    page = to_html(to_markdown(BLOCKS), folder)
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Rates &amp; times</title>" in page
    assert "<h1>Rates &amp; times</h1>" in page
    assert "<code>a &lt; b **c**</code>, <strong>bold</strong>" in page
    assert '<a href="page.md">a link</a>' in page
    assert "<td>a|b</td>" in page
    assert '<td style="text-align:right"><strong>2</strong></td>' in page
    assert '<img src="data:image/png;base64,iVBORyBhbmQgbW9yZQ==" alt="A picture" />' in page
    assert not re.search(r'(src|href)="(http|//)', page)  # nothing is fetched


def test_text_that_looks_like_html_stays_text(folder):
    page = to_html("# T\n\n<script>alert(1)</script>\n", folder)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


class Balance(HTMLParser):
    """Fails on a tag that is closed out of turn."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "img":
            assert self.open.pop() == tag


def test_html_tags_are_closed(folder):
    parser = Balance()
    parser.feed(to_html(to_markdown(BLOCKS), folder))
    assert parser.open == []


def test_csv_has_empty_cells_for_none():
    assert csv_text(["a", "b"], [[1, None], ["x,y", 0.5]]) == 'a,b\n1,\n"x,y",0.5\n'


def test_a_docstring_is_title_and_text():
    assert title_and_text("A title.\n\nTwo\nlines.\n") == ("A title", "Two lines.")
    assert title_and_text(None) == ("", "")


def undrawable():
    raise ValueError("no ink")


def test_a_section_that_cannot_be_drawn_says_why(tmp_path):
    sections = [
        Section("a", "First\n\nText.", [TABLE], undrawable),
        Section("b", "Second", [], csv="x\n1\n", last=["The end."]),
    ]
    write_report(tmp_path / "new", ["# Title"], sections)
    text = (tmp_path / "new" / "report.md").read_text()
    assert re.findall("^## (.*)", text, re.M) == ["First", "Second"]
    assert "\n\nNo picture: ValueError: no ink\n\n" in text
    assert text.endswith("## Second\n\nThe end.\n")
    assert (tmp_path / "new" / "b.csv").read_text() == "x\n1\n"
    assert "<h2>First</h2>" in (tmp_path / "new" / "report.html").read_text()
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "report.md",
        "report.html",
        "b.csv",
    }


def test_a_section_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from forks.experiments import style

    figure, ((axes,),) = style.figure(3.0, 2.0)
    axes.loglog([1.0, 10.0], [1.0, 2.0], label="a curve")
    style.plain_ticks(axes)
    style.finish(axes, "x", "y")
    write_report(tmp_path, ["# Title"], [Section("a", "First", [], lambda: figure)])
    assert "![First](a.png)" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "data:image/png;base64," in (tmp_path / "report.html").read_text()
