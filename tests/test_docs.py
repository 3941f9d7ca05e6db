"""The documentation: every page is in the navigation, links resolve, scripts leave pictures."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from forks.parts import landmarks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
DRAWN = {DOCS / "gallery" / f"{script.stem}.png" for script in SCRIPTS}
DRAWN.add(DOCS / "images" / "choosing.png")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SNIPPET = re.compile(r'^--8<-- "([^":]+)(?::(\w+))?"$', re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def configuration():
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!relative", lambda loader, node: node.value)
    return yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)


def named(nav):
    for entry in nav:
        if isinstance(entry, dict):
            for value in entry.values():
                yield from named(value) if isinstance(value, list) else [value]
        else:
            yield entry


def anchors(page):
    text = FENCE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_the_navigation_names_every_page_once():
    pages = list(named(configuration()["nav"]))
    assert sorted(pages) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_resolve(page):
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists() or linked in DRAWN, f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_a_page_includes_is_there(page):
    for path, section in SNIPPET.findall(page.read_text()):
        text = (ROOT / path).read_text()
        if section:
            start, end = (f"--8<-- [{which}:{section}]" for which in ("start", "end"))
            assert 0 <= text.find(start) < text.find(end), f"{path}: {section}"


def test_every_script_is_in_the_gallery_with_its_picture():
    gallery = (DOCS / "gallery.md").read_text()
    assert len(SCRIPTS) == 10
    for script in SCRIPTS:
        assert f"](gallery/{script.stem}.png)" in gallery
        assert f'--8<-- "examples/{script.name}"' in gallery
        assert len(script.read_text().splitlines()) < 60


def test_the_limit_that_a_guide_names_is_the_code_s():
    text = (DOCS / "guide" / "estimators.md").read_text()
    assert f"more than {landmarks._WIDEST} features" in text


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_leaves_its_picture(script, tmp_path):
    pytest.importorskip("matplotlib")
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"{script.stem}.png"]


def test_broken_links_of_a_site_are_found(tmp_path):
    """`make docs` looks for them in what it has built."""
    spec = importlib.util.spec_from_file_location("links", DOCS / "_links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "index.html").write_text(
        '<h1 id="top"></h1><a href="sub/#here"><a href="#top"><a href="https://example.org">'
        '<a href="sub/#gone"><a href="none.html"><img src="x.png"><script src="https://cdn/x.js">'
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<p id="here"><a href="..">')
    assert list(links.faults(tmp_path)) == [
        "index.html links to sub/#gone, which has no such place",
        "index.html links to none.html, which is not there",
        "index.html links to x.png, which is not there",
        "index.html loads https://cdn/x.js",
    ]


def test_formulas_are_set_by_files_of_the_site():
    settings, katex = configuration(), DOCS / "assets" / "katex"
    for name in (*settings["extra_css"], *settings["extra_javascript"]):
        assert (DOCS / name).is_file()
    fonts = set(re.findall(r"fonts/[\w-]+\.woff2", (katex / "katex.min.css").read_text()))
    assert fonts == {f"fonts/{path.name}" for path in (katex / "fonts").iterdir()}
    assert "MIT" in (katex / "LICENSE").read_text()


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_fetches_nothing(tmp_path):
    for needed in ("mkdocs", "material", "mkdocstrings", "matplotlib"):
        pytest.importorskip(needed)
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr
    assert len(list(tmp_path.rglob("*.html"))) > len(PAGES)
