"""Forks of a kernel machine, and what they have learned together, as `forks.parts.merging` says.

The matrices A are kept by the oracle of the machine, in features for which the prior is alpha I.
"""

import copy
import math
from collections.abc import Sequence

import numpy as np

from forks.oracles.kernels import Vector
from forks.oracles.machine import MachineOracle


def fork(start: MachineOracle, rows: int = 0) -> MachineOracle:
    """Return a machine that goes on from a start, whose map, prior and tolerance stay.

    Prior and tolerance are those for the `rows` that all forks will learn together. In regression
    all rows count, and none is clipped: see `weight_in_fork`.
    """
    forked = copy.deepcopy(start)
    forked.lower_alpha(len(start.past) + rows)
    forked.due = math.inf  # type: ignore[assignment]
    if not forked.classifies:
        forked.gate.tolerance, forked.gate.robust = 0.0, False
    elif rows > 0:
        forked.gate.set_tolerance(len(start.past) + rows)
    return forked


def weight_in_fork(start: MachineOracle, x: Vector, y: Vector) -> float:
    """Return how much a row counts: less if the start errs by more than four usual errors."""
    if start.classifies:
        return 1.0
    usual = start.spread * np.sqrt(start.gate.mean_square)
    return float(min(1.0, 4.0 * usual / np.abs(start.score(x) - y).max()))


def merge(start: MachineOracle, forks: Sequence[MachineOracle], rows: int = 0) -> MachineOracle:
    """Return the start with A_0 + sum (A_k - A_0), and b likewise; then it is brought up to date.

    A smaller prior changes the weights in regression alone. The rows of the forks come one fork
    after the other. The mean square of the slopes is the mean of those of the forks, weighed by
    their rows.
    """
    merged, first = copy.deepcopy(start), fork(start, rows)
    A, b = first.A.copy(), first.A @ first.w
    for each in forks:
        A += each.A - first.A
        b += each.A @ each.w - first.A @ first.w
        merged.past += each.past[len(start.past) :]
    learned = [len(each.past) - len(start.past) for each in forks]
    merged.gate.rounds += sum(learned)
    squares = [each.gate.mean_square for each in forks]
    merged.gate.mean_square = float(np.average(squares, weights=learned))
    merged.A, merged.w, merged.alpha = A, np.linalg.solve(A, b), first.alpha
    w = merged.w
    merged.event()
    if merged.classifies:
        merged.w = w
    return merged
