"""The two renderings of a report."""

import re
from html.parser import HTMLParser

import pytest

from forks.experiments.reproduce.document import (
    Bullets,
    Heading,
    Paragraph,
    Picture,
    Table,
    to_html,
    to_markdown,
)

BLOCKS = [
    Heading(1, "Rates & times"),
    Paragraph("Made by `a < b **c**`, **bold**, [a link](page.md)."),
    Table(["", "x", "y"], [["one", "1", ""], ["a|b", "", "**2**"]]),
    Bullets(["first", "second"]),
    Picture("A picture", "p.png"),
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


def test_html_is_escaped_and_complete(folder):
    page = to_html(BLOCKS, folder)
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>Rates &amp; times</h1>" in page
    assert "<code>a &lt; b **c**</code>, <strong>bold</strong>" in page
    assert '<a href="page.md">a link</a>' in page
    assert '<td class="name">a|b</td><td></td><td><strong>2</strong></td>' in page
    assert '<img alt="A picture" src="data:image/png;base64,iVBORyBhbmQgbW9yZQ==">' in page
    assert not re.search(r'(src|href)="(http|//)', page)  # nothing is fetched


class Balance(HTMLParser):
    """Fails on a tag that is closed out of turn."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_tags_are_closed(folder):
    parser = Balance()
    parser.feed(to_html(BLOCKS, folder))
    assert parser.open == []
