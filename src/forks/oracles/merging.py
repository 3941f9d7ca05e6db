"""Forks of a kernel machine, and what they have learned together, as `forks.parts.merging` says.

The matrices A are kept by the oracle of the machine, in features for which the prior is alpha I.
"""

import copy
import math
from collections.abc import Sequence

import numpy as np

from forks.oracles.machine import MachineOracle


def fork(start: MachineOracle) -> MachineOracle:
    """Return a machine that goes on from a start, whose map, prior and tolerance stay.

    In regression all rows count, and none is clipped.
    """
    forked = copy.deepcopy(start)
    forked.due = math.inf  # type: ignore[assignment]
    if not forked.classifies:
        forked.gate.tolerance, forked.gate.robust = 0.0, False
    return forked


def merge(start: MachineOracle, forks: Sequence[MachineOracle]) -> MachineOracle:
    """Return the start with A_0 + sum (A_k - A_0), and b likewise; then it is brought up to date.

    The rows of the forks come one fork after the other. The mean square of the slopes is the mean
    of those of the forks, weighed by their rows.
    """
    merged = copy.deepcopy(start)
    A, b = start.A.copy(), start.A @ start.w
    for each in forks:
        A += each.A - start.A
        b += each.A @ each.w - start.A @ start.w
        merged.past += each.past[len(start.past) :]
    learned = [len(each.past) - len(start.past) for each in forks]
    merged.gate.rounds += sum(learned)
    squares = [each.gate.mean_square for each in forks]
    merged.gate.mean_square = float(np.average(squares, weights=learned))
    merged.A, merged.w = A, np.linalg.solve(A, b)
    merged.event()
    return merged
