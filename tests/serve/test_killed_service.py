"""A service that is killed loses nothing."""

import statistics

import pytest
from kills import check, free_port, killed


@pytest.mark.parametrize(
    ("n", "seconds"), [(2, 1.0), pytest.param(100, 2.0, marks=pytest.mark.slow)]
)
def test_what_was_acknowledged_is_learned_once(tmp_path, n, seconds):
    known, times = killed(tmp_path / "state", n, free_port(), seconds=seconds)
    assert check(tmp_path / "state", known, tmp_path / "plain") >= len(known.learned) > 10 * n
    took, worked = map(statistics.median, zip(*times, strict=True))
    assert took < 60.0  # seconds; other tests may run beside it
    assert worked < 5.0  # seconds of CPU time, with up to 300 rows to learn again
