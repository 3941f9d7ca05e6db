"""A slow rise of mistakes, against its oracle and on rates whose answer is plain."""

import numpy as np
import pytest

from forks.engine.memory import allocate, viewer
from forks.oracles import SlowRise
from forks.parts.rise import LOW, Rise, RiseRule, begin_rise, has_risen, rise_limits


def begun():
    rise = viewer(Rise)(allocate(Rise, {"levels": (2,)}))
    begin_rise(rise)
    return rise


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_oracle(seed):
    rng = np.random.default_rng(seed)
    rise, oracle, rounds, answers = begun(), SlowRise(), 0, []
    for _ in range(300):
        rounds += int(rng.integers(1, 4000))
        rate = float(rng.beta(1.0, 6.0))
        answers.append(has_risen(RiseRule(), rise, rate, rounds))
        assert answers[-1] == oracle.look(rate, rounds)
        assert rise.levels[LOW] == pytest.approx(oracle.low, rel=1e-12)
        assert all(limit.low <= limit.values <= limit.high for limit in rise_limits(rise))
    assert 0 < sum(answers) < 300


def test_a_rise_that_takes_thousands_of_rounds_is_seen():
    rise = begun()
    rates = np.linspace(0.08, 0.3, 20)
    seen = [has_risen(RiseRule(), rise, rate, 500 * t) for t, rate in enumerate(rates, 1)]
    assert not seen[0]
    assert seen[-1]
    assert seen == sorted(seen)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.25, 0.5])
def test_chance_is_no_rise(rate):
    rng, rise = np.random.default_rng(0), begun()
    looks = [rng.binomial(1000, rate) / 1000 for _ in range(500)]
    assert not any(has_risen(RiseRule(), rise, p, 1000 * t) for t, p in enumerate(looks, 1))


@pytest.mark.parametrize("rate", [-5.0, 0.3, 5.0, 1e300])
@pytest.mark.parametrize("levels", [(0.0, 0.0), (1.0, 2.0**53)])
def test_what_a_file_may_claim_stays_within_limits(levels, rate):
    rise = begun()
    rise.levels[:] = levels
    for rounds in (1, 10**6):
        has_risen(RiseRule(), rise, rate, rounds)
        assert all(limit.low <= limit.values <= limit.high for limit in rise_limits(rise))


def test_a_rate_that_stays_high_is_the_usual_one_in_the_end():
    rise = begun()
    has_risen(RiseRule(), rise, 0.05, 1000)
    answers = [has_risen(RiseRule(), rise, 0.3, 1000 * t) for t in range(2, 120)]
    assert answers[0]
    assert not answers[-1]
