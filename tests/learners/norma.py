"""NORMA: a learner from outside the package, in one file, as a user would write it.

Gradient steps on a regularised loss: alpha <- (1 - eta lambda) alpha, and a row with a slope l'
joins with the coefficient -eta l'. The oldest of `budget` points makes room for it.

Reference: Kivinen, Smola, Williamson, "Online learning with kernels", IEEE Transactions on Signal
Processing 52(8), 2004.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from forks.engine import MENDS, Counter, Learner, Matrix, Points, Vector, finite, score, step, store
from forks.engine.checks import not_negative, positive, whole
from forks.kernels import Gaussian, Kernel
from forks.learners.catalogue import Method, of
from forks.linalg.vectors import dot
from forks.losses import Hinge, Loss, slope
from forks.parts.expansion import compare, finite_or_zero

STORED = 2  # where `counts` holds the number of points that were stored so far


class NORMAState(NamedTuple):
    counts: Annotated[Counter, 3]
    points: Annotated[Points, "capacity = budget"]
    alpha: Annotated[Matrix, "outputs", "padded(budget)"]


class NORMARule(NamedTuple):
    kernel: Kernel
    loss: Loss
    budget: int
    eta: float
    shrink: float


class NORMAWork(NamedTuple):
    row: Annotated[Vector, "padded(budget)"]
    change: Annotated[Vector, "outputs"]


@dataclass(frozen=True, kw_only=True)
class NORMA(Learner):
    """Gradient descent that forgets."""

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    eta: float = 0.2
    regularisation: float = 0.01

    multi_output = True
    state_class, work_class, rule_class = NORMAState, NORMAWork, NORMARule

    def __post_init__(self):
        super().__post_init__()
        whole("budget", self.budget, 1)
        positive("eta", self.eta)
        not_negative("regularisation", self.regularisation)

    def derived(self):
        return {"shrink": 1.0 - self.eta * self.regularisation}

    def stored_points(self, memory):
        return int(min(self.view(memory).counts[STORED], self.budget))


@score.register(NORMARule)
def _score(rule, state, work, x, out):
    n = min(state.counts[STORED], rule.budget)
    compare(rule.kernel, state.points, n, x, work.row)
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(state.alpha[o], work.row, n))


@step.register(NORMARule)
def _step(rule, state, work, x, y, weight, out):
    score(rule, state, work, x, out)
    if weight == 0.0:
        return
    joins = False
    for o in range(out.shape[0]):
        change = -rule.eta * weight * slope(rule.loss, out[o], y[o])
        if not finite(change):
            state.counts[MENDS] += 1
            change = 0.0
        work.change[o] = change
        joins = joins or change != 0.0
        for i in range(rule.budget):
            state.alpha[o, i] *= rule.shrink
    if joins:
        slot = state.counts[STORED] % rule.budget
        store(x, state.points, slot)
        for o in range(out.shape[0]):
            state.alpha[o, slot] = work.change[o]
        state.counts[STORED] += 1


METHOD = Method("NORMA", of(NORMA), rough=True)
