"""Hostile requests; `fuzz_requests` says what they are."""

import asyncio

import pytest
from fuzz_requests import attack


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n", [600, pytest.param(50_000, marks=pytest.mark.slow)])
def test_there_is_always_an_answer(n, seed):
    counts = asyncio.run(attack(n, seed))
    assert {200, 400, 401, 403, 404, 415, 422} <= counts.keys()
