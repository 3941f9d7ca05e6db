"""Hostile requests; `fuzz_requests` says what they are."""

import asyncio

import pytest
from fuzz_requests import GROWN, attack, quarters


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n", [600, pytest.param(50_000, marks=pytest.mark.slow)])
def test_there_is_always_an_answer(n, seed):
    counts, memory = asyncio.run(attack(n, seed, GROWN if n > 10_000 else 0))
    assert {200, 400, 401, 403, 404, 415, 422} <= counts.keys()
    if n > 10_000:  # else there is still something to compile, and not all has come
        assert {408, 413} <= counts.keys()
        third, last = quarters(memory)
        assert last <= third + 2.0  # MB: 160 bytes a request
