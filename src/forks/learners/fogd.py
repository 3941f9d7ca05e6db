"""Fourier online gradient descent (FOGD): gradient steps on random Fourier features.

The kernel is replaced by the inner product of D random frequencies' cosines and sines, 2 D
features phi in all (`forks.features.fourier`), on which the hypothesis is linear:

    f_t = w'phi_t,   w <- w - eta l'(f_t, y_t) phi_t.

No point is stored. A round costs O(d D), whatever the stream. A feature that comes later
(`FOGD.widened`) has the frequencies that a generator of its own gives it.

Reference: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", Journal of Machine
Learning Research 17, 2016. The features here have length 1, like k(x, x); the authors' code leaves
out D^(-1/2), so that its step size 0.002 is eta = 0.002 D here: 0.4 for its D = 200 at B = 50.
Steps that would diverge are held, see `forks.parts.gradient`.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import MENDS, Counter, Learner, Limit, Matrix, Memory, Vector, score, step
from forks.engine.checks import positive, whole
from forks.features.fourier import (
    Frequencies,
    check_spectrum,
    draw,
    draw_feature,
    fourier_features,
    write_fourier_features,
)
from forks.kernels import Gaussian, Kernel
from forks.losses import Hinge, Loss
from forks.parts.linear import linear_scores, linear_step


class FOGDState(NamedTuple):
    """State that learning changes in place: w only."""

    counts: Annotated[Counter, 2]  # the event, never raised; mends
    frequencies: Frequencies
    w: Annotated[Matrix, "outputs", "2 * padded(n_frequencies)"]  # zero beyond D in either half
    random: Annotated[Counter, 1]  # seed of the frequencies of features that come later


class FOGDRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    n_frequencies: int
    eta: float


class FOGDWork(NamedTuple):
    """Scratch."""

    phi: Annotated[Vector, "2 * padded(n_frequencies)"]


@dataclass(frozen=True, kw_only=True)
class FOGD(Learner):
    """Fourier online gradient descent.

    Parameters
    ----------
    kernel : kernel
        `forks.kernels.Gaussian` or `forks.kernels.Laplacian`.
    loss : loss
        One of `forks.losses`.
    budget : int
        B, from which `n_frequencies` follows where it is None.
    n_frequencies : int, default 4 B
        D, half the number of features.
    eta : float
        Step size.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    n_frequencies: int | None = None
    eta: float = 0.2

    multi_output = True
    state_class = FOGDState
    work_class = FOGDWork
    rule_class = FOGDRule

    def __post_init__(self) -> None:
        super().__post_init__()
        check_spectrum(self.kernel)
        whole("budget", self.budget, 1)
        if self.n_frequencies is not None:
            whole("n_frequencies", self.n_frequencies, 1)
        positive("eta", self.eta)

    def size(self) -> int:
        """Return D, with None filled in."""
        return int(4 * self.budget if self.n_frequencies is None else self.n_frequencies)

    def lengths(self) -> dict[str, int]:
        """Return D by its name."""
        return {"n_frequencies": self.size()}

    def begin(self, view: FOGDState, rng: np.random.Generator) -> None:
        """Draw the frequencies."""
        draw(self.kernel, view.frequencies, self.size(), rng)
        super().begin(view, rng)

    def limits(self, view: FOGDState) -> list[Limit]:
        """Return no bounds: compiled code relies on no count."""
        return []

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Draw the frequencies of new features: they were 0 in all rows, which are what they were.

        The draws depend on the feature's column alone, not on when it came.
        """
        known = self.view(memory).frequencies.columns.shape[0]
        memory = super().widened(memory, n_features)
        state = self.view(memory)
        for j in range(known, n_features):
            draw_feature(self.kernel, state.frequencies, self.size(), j, int(state.random[0]))
        return memory

    def stored_points(self, memory: Memory) -> int:
        """Count the points that are kept: none, frequencies are not points."""
        return 0

    def features(self, memory: Memory, X: Matrix) -> Matrix:
        """Return phi of the rows: the cosines, then the sines."""
        return fourier_features(self.kernel, self.view(memory).frequencies, self.size(), X)


@score.register(FOGDRule)
def _score(rule, state, work, x, out):
    write_fourier_features(rule.kernel, state.frequencies, rule.n_frequencies, x, work.phi)
    linear_scores(state.w, work.phi, out)


@step.register(FOGDRule)
def _step(rule, state, work, x, y, weight, out):
    score(rule, state, work, x, out)
    mends = linear_step(rule.loss, rule.eta, state.w, work.phi, y, weight, out)
    state.counts[MENDS] += mends
