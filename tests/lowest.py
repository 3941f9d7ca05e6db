"""Print the lowest versions that pyproject.toml allows, as pip takes them; see `make lowest`."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]


def lowest(*extras: str) -> list[str]:
    """Return `name==version.*` for the dependencies, or for those of extras."""
    groups = PROJECT["optional-dependencies"]
    asked = [one for extra in extras for one in groups[extra]] or PROJECT["dependencies"]
    return [re.sub(r">=(.+)", r"==\1.*", one) for one in asked]


if __name__ == "__main__":
    print(*lowest(*sys.argv[1:]))
