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
    bounds = [one.partition(";")[0].strip() for one in asked]  # without what platforms they are for
    return [re.sub(r">=(.+)", r"==\1.*", bound) for bound in bounds]


if __name__ == "__main__":
    print(*lowest(*sys.argv[1:]))
