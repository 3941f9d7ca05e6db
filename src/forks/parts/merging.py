"""Learners that have learned apart, on one map, as one: sums of information, and pooled means.

Forks of a learner begin with the same A_0 = P_0^-1 and theta_0, and keep its features psi. Fork k
ends with A_k and theta_k, so that b_k = A_k theta_k. What it has learned is the sum over its own
rows in A_k - A_0 and b_k - b_0, and all of them together have learned

    A = A_0 + sum_k (A_k - A_0),   b = b_0 + sum_k (b_k - b_0),   theta = A^-1 b.

For the squared error A and b are sums over rows, and this is what one learner would have learned
from all of them, in any order. For other losses slopes and curvatures were taken at each fork's own
theta, and it is nearly so. It does not matter in which groups forks are brought together.

Subtracting A theta_0 from b leaves theta = theta_0 + A^-1 sum_k A_k (theta_k - theta_0), which is
what is computed, in whitened features, for which the prior is alpha I: with P = R'R of features
whose prior is D D', A is C C' for C = (R D)^-1. In the features themselves A is so ill-conditioned
that rounding could make a sum of them indefinite.

What a learner keeps beside that was made row by row, and is no sum. Numbers that follow the stream
(rates, means, levels) become the means over forks, weighed by the rows that each has learned; the
last rows are the last ones of each fork, as many of each as its share of all rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Vector
from forks.linalg import spd, triangles
from forks.linalg.packed_inverse import root
from forks.losses import curvature
from forks.parts.newton import Newton, set_solution
from forks.parts.ring import last_slots


class CannotForkError(ValueError):
    """A learner that cannot be forked, with the reason."""


def add_newtons(
    merged: Newton, start: Newton, forks: Sequence[Newton], width: int, L: Matrix
) -> None:
    """Set theta and P to what forks of a start have learned together; `width` features are in use.

    The first of them have the prior L L', the rest the identity. Raises LinAlgError, changing
    nothing, if numbers overflow.
    """
    w, C = _whitened(start, width, L)
    A, learned = np.zeros((width, width)), np.zeros_like(w)
    triangles.add_squares(A, C, 1.0 - len(forks))
    for fork in forks:
        w_k, C = _whitened(fork, width, L)
        triangles.add_squares(A, C)
        learned += C @ (C.T @ (w_k - w))
    B = spd.factorise(A)
    w = w + spd.solve(B, learned)
    if not np.isfinite(w).all():
        raise np.linalg.LinAlgError("the solution is not finite")
    set_solution(merged, w, B, L)


def _whitened(newton: Newton, width: int, L: Matrix) -> tuple[Matrix, Matrix]:
    """Return the weights of whitened features, a column per output, and C with A = C C'."""
    m = len(L)
    R, w = root(newton.P, width), newton.theta[:, :width].T.copy()
    if m > 0:
        R[:m, :m] = triangles.times(R[:m, :m], L)
        R[m:, :m] = spd.times_lower(R[m:, :m], L)
        w[:m] = L.T @ w[:m]
    return w, triangles.invert(R)


class Shares(NamedTuple):
    """How many rows there were at the start, and how many each fork has learned since."""

    before: int
    learned: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Rows of all."""
        return self.before + sum(self.learned)

    def mean(self, start: Any, of_forks: Sequence[Any]) -> Any:
        """Return the mean of arrays of the forks; that of the start if they have learned nothing.

        Equal ones come back as they are.
        """
        total = sum(self.learned)
        if total == 0 or all(np.array_equal(array, of_forks[0]) for array in of_forks):
            return of_forks[0] if total else start
        pairs = zip(self.learned, of_forks, strict=True)
        return sum((n / total) * np.asarray(array) for n, array in pairs)

    def total(self, start: Any, of_forks: Sequence[Any]) -> Any:
        """Return the start and what each fork has added to it."""
        return start + sum((array - start for array in of_forks), start=np.zeros_like(start))

    def last_rows(self, size: int) -> tuple[Counter, Counter]:
        """Return the last rows of all, oldest first: whose they are, and their rounds there.

        The start is -1. Forks are taken to have gone on side by side, each at its own pace.
        """
        total = sum(self.learned)
        whose, rounds, ages = [], [], []
        for k, n in enumerate((total, *self.learned), start=-1):
            at = self.before + (0 if k < 0 else n)
            back = np.arange(1, min(size, at if k < 0 else n) + 1)
            whose.append(np.full(len(back), k))
            rounds.append(at - back)
            ages.append(total + back if k < 0 else back * (total / max(n, 1)))
        youngest = np.lexsort((np.concatenate(whose), np.concatenate(ages)))[:size][::-1]
        return np.concatenate(whose)[youngest], np.concatenate(rounds)[youngest]

    def pool_rows(
        self, merged: Sequence[Any], start: Sequence[Any], forks: Sequence[Sequence[Any]]
    ) -> None:
        """Fill rings, arrays whose slot t mod size is of round t, with the last rows of all."""
        size = len(merged[0])
        whose, rounds = self.last_rows(size)
        slots = last_slots(self.rounds, len(whose), size)
        for i, array in enumerate(merged):
            for k, source in enumerate((start, *forks), start=-1):
                own = whose == k
                array[slots[own]] = source[i][rounds[own] % size]


def shares_of(index: int, start: Any, forks: Sequence[Any]) -> Shares:
    """Return the shares of states, whose rounds are `counts[index]`."""
    before = int(start.counts[index])
    shares = Shares(before, tuple(int(fork.counts[index]) - before for fork in forks))
    if min(shares.learned) < 0:
        raise ValueError("a fork has learned fewer rows than its start")
    return shares


def check_second_order(loss: Any, classifies: bool) -> None:
    """Raise an error if a loss has no curvature where it has a slope."""
    if not curvature(loss, 0.0, 1.0 if classifies else 1e-6) > 0.0:
        raise CannotForkError(
            f"the loss {type(loss).__name__} has no curvature, so that what is learned with it is "
            "no sum over rows"
        )


def check_begun(rounds: int, buffer: int) -> None:
    """Raise an error if a learner has not made its map from a whole buffer."""
    if rounds < buffer:
        raise CannotForkError(
            f"its map is made from {buffer} rows, of which it has learned {rounds}; let it learn "
            "the others first"
        )


def mean_of_all(start: Vector, of_forks: Sequence[Vector], shares: Shares) -> Vector:
    """Return the mean over all rows, of those over the rows of each fork and the ones before."""
    sums = shares.before * start
    for mean, n in zip(of_forks, shares.learned, strict=True):
        sums = sums + (shares.before + n) * mean - shares.before * start
    return np.asarray(sums / max(1, shares.rounds))
