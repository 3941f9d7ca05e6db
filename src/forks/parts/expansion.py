"""What learners share that keep f(x) = sum_i alpha_i k(x_i, x) over a bounded set of points.

Their states start with `counts` (the event, mends, n, the number of points), `points` and `alpha`,
and their rules with the kernel; the file of each learner has the rest.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from forks.engine import Learner, Limit, Memory, Vector, finite, njit, store
from forks.engine.blocks import LANES
from forks.engine.checks import whole
from forks.kernels import Gaussian, Kernel, kernel_row
from forks.linalg.vectors import dot

POINTS = 2  # where `counts` holds n


class ExpansionWork(NamedTuple):
    """Scratch of learners that need no more than one row of kernel values."""

    row: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x)


@dataclass(frozen=True, kw_only=True)
class BudgetedExpansion(Learner):
    """Base of the learners that keep at most `budget` points."""

    kernel: Kernel = Gaussian()
    budget: int = 100

    work_class: ClassVar[type] = ExpansionWork

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("budget", self.budget, 1)

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of the counts; a subclass with more of them adds its own."""
        return [Limit("number of points", view.counts[POINTS], 0, self.budget)]

    def stored_points(self, memory: Memory) -> int:
        """Count the support vectors."""
        return int(self.view(memory).counts[POINTS])


def expansion_score(rule, state, work, x, out):
    """Body of `score`: f(x)."""
    out[0] = expand(rule.kernel, state.points, state.counts[POINTS], state.alpha, x, work.row)


@njit
def expand(kernel, points, n, alpha, x, row):
    """f(x) = sum_i alpha_i k(x_i, x); `row` gets the kernel values."""
    compare(kernel, points, n, x, row)
    return finite_or_zero(dot(alpha, row, n))


@njit
def compare(kernel, points, n, x, row):
    """Write the kernel values to the first n points, and zeros up to a whole block."""
    kernel_row(kernel, x, points, n, row)
    for i in range(n, min(n + LANES, row.shape[0])):
        row[i] = 0.0


@njit
def finite_or_zero(f):
    """Return the score f, or 0 if it is not finite."""
    return f if finite(f) else 0.0


@njit
def is_mistake(f, y):
    """Return whether the answer is wrong; a score of zero answers +1."""
    return (f >= 0.0) != (y > 0.0)


@njit
def is_wrong(f, y):
    """Return whether scores answer wrongly: by the sign of the only one, or by the largest."""
    if y.shape[0] == 1:
        return is_mistake(f[0], y[0])
    best = 0
    for o in range(1, y.shape[0]):
        if f[o] > f[best]:
            best = o
    return y[best] < 0.0


@njit
def drop(points, alpha, i, n):
    """Remove point i of n: the last one takes its place."""
    for j in range(points.columns.shape[0]):
        points.columns[j, i] = points.columns[j, n - 1]
    points.norms[0, i] = points.norms[0, n - 1]
    points.norms[1, i] = points.norms[1, n - 1]
    alpha[i] = alpha[n - 1]


@njit
def self_value(kernel, x, spare, block):
    """k(x, x); `spare` has room for one point, `block` for eight numbers."""
    store(x, spare, 0)
    kernel_row(kernel, x, spare, 1, block)
    return block[0]
