"""A short run of the state machines; `make fuzz` has the long one."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from machines import COUNTS, KINDS, Machine

SHORT = settings(
    max_examples=6,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize(
    "kind",
    [
        "default of three",
        "refreshed",
        "sketched regressor",
        "BOGD of three",
        pytest.param("regressor", marks=pytest.mark.slow),  # compiled for this test alone
    ],
)
def test_any_calls_in_any_order(kind, monkeypatch):
    if kind == "default of three":  # to score sparse rows ahead would be compiled for it alone
        monkeypatch.setitem(KINDS, kind, KINDS[kind]._replace(sparse=False))

    class One(Machine):
        kinds = (kind,)

    before = COUNTS["steps"]
    run_state_machine_as_test(One, settings=SHORT)
    assert COUNTS["steps"] > before + 50


def test_the_machine_notices_a_state_that_is_lost(monkeypatch):
    """A save that forgets something is found."""
    from forks.engine import Engine

    restored = Engine.restored.__func__

    def forgetful(cls, learner, n_features, n_outputs, memory, *past):
        memory.floats[: len(memory.floats) // 2] = 0.0  # the rest may be of places not taken
        return restored(cls, learner, n_features, n_outputs, memory, *past)

    class One(Machine):
        kinds = ("sketched regressor",)

    monkeypatch.setattr(Engine, "restored", classmethod(forgetful))
    quick = settings(SHORT, max_examples=100, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(One, settings=quick)


def test_every_kind_has_a_name_of_its_own():
    assert len(KINDS) >= 20
