"""A service that is killed loses nothing."""

import statistics

import pytest
from kills import check, free_port, killed


@pytest.mark.parametrize(
    ("n", "seconds", "start"), [(2, 1.0, 60.0), pytest.param(100, 2.0, 5.0, marks=pytest.mark.slow)]
)
def test_what_was_acknowledged_is_learned_once(tmp_path, n, seconds, start):
    known, times = killed(tmp_path / "state", n, free_port(), seconds=seconds)
    assert check(tmp_path / "state", known, tmp_path / "plain") >= len(known.learned) > 10 * n
    assert statistics.median(times) < start  # seconds, with up to 300 rows to learn again
