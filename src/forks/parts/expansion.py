"""What learners share that keep f(x) = sum_i alpha_i k(x_i, x) over a bounded set of points.

Their states start with `counts` (the event, mends, n, the number of points), `points` and `alpha`,
and their rules with the kernel; the file of each learner has the rest.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from forks.engine import (
    EVENT,
    MANY,
    MENDS,
    RESUME,
    Learner,
    Limit,
    Memory,
    Shapes,
    Vector,
    allocate,
    finite,
    njit,
    point_shapes,
    store,
    viewer,
)
from forks.engine.blocks import LANES, padded
from forks.engine.checks import whole
from forks.kernels import Gaussian, Kernel, check_kernel, kernel_row
from forks.linalg.vectors import dot

POINTS = 2  # where `counts` holds n


@dataclass(frozen=True, kw_only=True)
class BudgetedExpansion(Learner):
    """Base of the learners that keep at most `budget` points; a subclass names its state."""

    kernel: Kernel = Gaussian()
    budget: int = 100

    state_class: ClassVar[type]

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        whole("budget", self.budget, 1)

    def shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of the state; a subclass adds its own."""
        return {
            "counts": (3,),
            **point_shapes("points", n_features, self.budget + 1),  # one more than the budget
            "alpha": (padded(self.budget + 1),),
        }

    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return an empty expansion, and seed its draws if it makes any."""
        memory = allocate(self.state_class, self.shapes(n_features))
        random = getattr(self.view(memory), "random", None)
        if random is not None:
            random[:] = rng.integers(2**63, size=random.shape)
        return memory

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class and the shapes of its arrays."""
        if n_outputs != 1:
            raise ValueError(f"{type(self).__name__} has one output, not {n_outputs}")
        return self.state_class, self.shapes(n_features)

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of the counts; a subclass with more of them adds its own."""
        return [
            Limit("event", view.counts[EVENT], RESUME, 0),
            Limit("mends", view.counts[MENDS], 0, MANY),
            Limit("number of points", view.counts[POINTS], 0, self.budget),
        ]

    def view(self, memory: Memory) -> Any:
        """Show the memory as arrays."""
        return viewer(self.state_class)(memory)

    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""
        return padded(self.budget + 1)

    def stored_points(self, memory: Memory) -> int:
        """Count the support vectors."""
        return int(self.view(memory).counts[POINTS])


class ExpansionWork(NamedTuple):
    """Scratch."""

    row: Vector  # (padded(budget + 1),)  k(x_i, x)


def expansion_workspace(rule, state, scratch):
    """Body of `workspace` for learners that need one row of kernel values."""
    return ExpansionWork(scratch)


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
def finite_or_zero(z):
    """A score that overflows says nothing."""
    return z if finite(z) else 0.0


@njit
def is_mistake(f, y):
    """Is the answer wrong? A score of zero answers +1."""
    return (f >= 0.0) != (y > 0.0)


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
