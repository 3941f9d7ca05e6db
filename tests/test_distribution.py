"""The distribution: one name in every message, versions that agree, a changelog of releases."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from forks import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "src/**/*.py", "examples/*.py")
    for path in ROOT.glob(pattern)
)
INSTALL = re.compile(r"pip\s+install\s+(?!-|\.)(\S[^`\n]*)")
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", re.MULTILINE)


def test_every_command_that_installs_forks_names_the_distribution_and_an_extra_of_it():
    commands = [
        (path, command)
        for path in TEXTS
        for command in INSTALL.findall(path.read_text())
        if "forks" in command
    ]
    assert len(commands) >= 10
    for path, command in commands:
        extra = re.match(r"'forks-learn\[(\w+)\]'", command)
        assert extra, f"{path.name}: pip install {command}"
        assert extra[1] in PROJECT["optional-dependencies"], f"{path.name}: {command}"


def test_the_changelog_begins_with_what_is_unreleased_and_goes_back_in_time():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    releases = RELEASE.findall(text)
    assert headings[0] == "Unreleased"
    assert len(releases) == len(headings) - 1
    assert releases == sorted(releases, key=lambda release: release[1], reverse=True)
    groups = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert groups <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_is_of_the_last_release():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    version, date = RELEASE.findall((ROOT / "CHANGELOG.md").read_text())[0]
    assert (citation["version"], str(citation["date-released"])) == (version, date)
    assert citation["title"] == PROJECT["name"]
    assert citation["license"] == PROJECT["license"]


def test_the_version_is_that_of_the_last_release_or_on_the_way_to_the_next():
    last = RELEASE.findall((ROOT / "CHANGELOG.md").read_text())[0][0]
    number, _, development = __version__.partition(".dev")
    now, before = (tuple(map(int, version.split("."))) for version in (number, last))
    assert (now > before) if development else (now == before)


def test_the_version_of_an_installed_distribution_is_the_package_s():
    try:
        installed = metadata.version(PROJECT["name"])
    except metadata.PackageNotFoundError:
        pytest.skip("not installed: the package is read from the tree")
    assert installed == __version__
