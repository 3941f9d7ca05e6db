"""Concepts that return: the expert that knew one sleeps until it is right again.

When the mistakes of the mixture tell that the concept has changed, the expert with the largest mean
weight over the last `memory` rounds is the one that knew what has ended. From then on it learns
from a row only while its own weight is at least `asleep`: rows of another concept, which would
spoil what it knows, take its weight away, and rows of its own give it back, within some twenty of
them, by Bayes' rule and the fixed share (`parts.experts`). And a machine forgets no more.

It keeps its place for `patience` times as many rounds as it has learned; at most `most` experts do
at a time, and of more the one that has slept longest is an ordinary one again. The bound on what
the mixture loses holds for experts whatever they learn from, and so for these.

References: Bousquet, Warmuth, "Tracking a small set of experts by mixing past posteriors", JMLR 3,
2002, for weights; here it is what experts know that is kept.
"""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import MANY, Counter, Limit, Vector, either, njit


class RecallRule(NamedTuple):
    """Constants."""

    most: int = 2
    asleep: float = 0.1
    memory: float = 100.0
    patience: int = 8


class Recall(NamedTuple):
    """What is known of each expert."""

    chosen: Annotated[Counter, "experts"]  # does it sleep while it has no say?
    awake: Annotated[Counter, "experts"]  # rounds that it has learned from
    last: Annotated[Counter, "experts"]  # the last of them
    usual: Annotated[Vector, "experts"]  # mean weight over the last rounds


def recall_limits(recall: Recall) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("experts that may sleep", recall.chosen, 0, 1),
        Limit("rounds of experts", np.stack([recall.awake, recall.last]), 0, MANY),
        Limit("usual weights of experts", recall.usual, 0.0, 1.0),
    ]


@njit
def is_asleep(rule, recall, e, weight):
    """Return whether expert e, which has this weight, leaves out the row."""
    return recall.chosen[e] == 1 and weight < rule.asleep


@njit
def learned(recall, e, t):
    """Note that expert e has learned row t."""
    recall.awake[e] += 1
    recall.last[e] = t


@njit
def follow_weights(rule, recall, weights):
    """Follow the weights of experts."""
    for e in range(recall.usual.shape[0]):
        recall.usual[e] += (weights[e] - recall.usual[e]) / rule.memory


@either
def is_kept(rule, recall, e, t):
    """Return whether expert e keeps its place at round t: its concept may return."""
    return recall.chosen[e] == 1 and t - recall.last[e] <= rule.patience * recall.awake[e]


def forget_expert(recall: Recall, e: int, rounds: int) -> None:
    """Begin anew with another expert in place e."""
    recall.chosen[e] = recall.awake[e] = 0
    recall.last[e] = rounds
    recall.usual[e] = 0.0


def choose(rule: RecallRule, recall: Recall, e: int) -> None:
    """Let expert e sleep from now on while it has no say."""
    recall.chosen[e] = 1
    chosen = np.flatnonzero(recall.chosen == 1)
    if len(chosen) > rule.most:
        others = chosen[chosen != e]
        recall.chosen[others[np.argmin(recall.last[others])]] = 0
