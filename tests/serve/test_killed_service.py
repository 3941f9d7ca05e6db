"""A service that is killed loses nothing."""

import pytest
from kills import check, free_port, killed


@pytest.mark.parametrize("n", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_what_was_acknowledged_is_learned_once(tmp_path, n):
    known, times = killed(tmp_path / "state", n, free_port())
    assert check(tmp_path / "state", known, tmp_path / "plain") >= len(known.learned) > 10 * n
    assert max(times) < 60.0
