"""The stack against whole matrices, and what it is for."""

import numpy as np
import pytest

from forks.engine import entry
from forks.oracles.stack import StackOracle
from forks.parts.blend import Blend
from forks.parts.experts import PAIR
from forks.parts.stack import (
    STACKED,
    Stack,
    StackRule,
    StackWork,
    begin_expert,
    begin_stack,
    learn_stack,
    stack_limits,
    stacked,
)

RULE = StackRule()
VOICES = 5  # two experts, their mean, the last target, the base rate


@entry
def _play(rule, stack, work, P, W, F, Y, weights, answers):
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            answers[t, o] = stacked(rule, stack, work, o, P[t], W[t], F[t, o])
            if weights[t] > 0.0:
                learn_stack(rule, stack, work, o, Y[t, o], weights[t])


def made(n_outputs=1):
    blend = Blend(np.zeros((n_outputs, VOICES + 1)), np.zeros((n_outputs, VOICES + 1, VOICES + 1)))
    stack = Stack(blend, np.zeros((n_outputs, 2)), np.zeros((n_outputs, 2)))
    begin_stack(RULE, stack)
    work = StackWork(np.zeros((n_outputs, VOICES + 1)), np.zeros(VOICES + 1), np.zeros(n_outputs))
    return stack, work


def played(stack, work, P, W, F, Y, weights=None):
    weights = np.ones(len(Y)) if weights is None else weights
    answers = np.zeros(Y.shape)
    _play.over()(RULE, stack, work, P, W, F, Y, weights, answers)
    return answers


def stream(n=600, n_outputs=1, seed=0):
    """Two experts with errors of their own; the mixture believes the first alone."""
    rng = np.random.default_rng(seed)
    Y = 10.0 * rng.normal(size=(n, n_outputs))
    P = Y[:, None, :] + rng.normal(size=(n, VOICES, n_outputs))
    W = np.tile([0.7, 0.1, 0.1, 0.1, 0.0], (n, 1))
    W[n // 3 : n // 2, 1] = 0.0
    return P, W, P[:, 0].copy(), Y, rng.uniform(0.1, 1.0, size=n)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_every_answer_is_the_oracles(n_outputs):
    P, W, F, Y, weights = stream(n_outputs=n_outputs)
    Y[300] += 1e3  # an outlier
    weights[50] = 0.0
    stack, work = made(n_outputs)
    before = played(stack, work, P[:400], W[:400], F[:400], Y[:400], weights[:400])
    begin_expert(RULE, stack, 1)
    ours = np.vstack([before, played(stack, work, P[400:], W[400:], F[400:], Y[400:])])
    for o in range(n_outputs):
        oracle = StackOracle(VOICES)
        for t in range(len(Y)):
            if t == 400:
                oracle.begin(1)
            voices = range(VOICES)
            said = [P[t, e, o] if W[t, e] > 0.0 and e != VOICES + PAIR else None for e in voices]
            np.testing.assert_allclose(ours[t, o], oracle.answer(said, F[t, o]), rtol=1e-9)
            power = weights[t] if t < 400 else 1.0
            if power > 0.0:
                oracle.learn(Y[t, o], power)
        np.testing.assert_allclose(stack.blend.weights[o], oracle.a, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(stack.trust[o], oracle.trust, rtol=1e-6)


def test_experts_whose_errors_differ_are_better_together():
    P, W, F, Y, _ = stream(n=3000)
    answers = played(*made(), P, W, F, Y)
    late = slice(1000, None)
    alone = np.sqrt(np.mean((F - Y)[late] ** 2))
    together = np.sqrt(np.mean((answers - Y)[late] ** 2))
    assert together < 0.75 * alone  # the mean of four such errors would have half of them


def test_what_does_not_help_is_not_believed():
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(3000, 1))
    P = 100.0 * rng.normal(size=(3000, VOICES, 1))  # noise
    F = Y + 0.1 * rng.normal(size=Y.shape)
    W = np.full((3000, VOICES), 1.0 / VOICES)
    stack, work = made()
    answers = played(stack, work, P, W, F, Y)
    late = slice(1000, None)
    assert np.mean((answers - Y)[late] ** 2) < 1.02 * np.mean((F - Y)[late] ** 2)
    assert stack.trust[0, STACKED] < 0.9


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_numbers_of_any_size_leave_it_sound(size):
    P, W, F, Y, _ = stream()
    stack, work = made()
    with np.errstate(over="ignore"):
        answers = played(stack, work, size * P, W, size * F, size * Y)
    assert np.isfinite(answers).all()
    for _, values, low, high in stack_limits(RULE, stack):
        assert np.all((low <= values) & (values <= high))
    for array in (*stack.blend, stack.trust, stack.errors):
        assert np.isfinite(array).all()
