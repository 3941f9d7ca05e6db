"""Every part has a test of its own."""

from pathlib import Path

from forks import parts


def test_every_part_has_a_file_of_tests():
    names = {path.stem for path in Path(parts.__file__).parent.glob("*.py")} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert names
    assert names <= tested
