"""Hostile requests; `fuzz_requests` says what they are."""

import asyncio

import pytest
from fuzz_requests import attack


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n", [600, pytest.param(50_000, marks=pytest.mark.slow)])
def test_there_is_always_an_answer(n, seed):
    counts = asyncio.run(attack(n, seed))
    assert {200, 400, 401, 403, 404, 415, 422} <= counts.keys()
    if n > 10_000:  # else there is still something to compile, and not all has come
        assert {408, 413} <= counts.keys()
        half, end = (counts[f"memory {when}, MB"] for when in ("at half", "at the end"))
        assert end <= 1.05 * half  # of the most that was ever in use
