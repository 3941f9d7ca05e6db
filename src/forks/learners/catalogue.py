"""The catalogue: one row per method, which drives the tests, `forks compare` and the benchmark.

A row makes the method's learner for a `Setting`: with the sizes that the FORKS paper gives every
method for a budget B (a buffer of 2 B for the two-stage methods, rank 0.1 B, 4 B random features'
frequencies, step size 0.2), as published by the method's own authors.
"""

from collections.abc import Callable
from typing import NamedTuple

from forks.engine import Learner
from forks.kernels import Kernel
from forks.learners.adaptive import SMALLEST_BUFFER, Adaptive
from forks.learners.bogd import BOGD
from forks.learners.bpas import BPAS
from forks.learners.fogd import FOGD
from forks.learners.forgetron import Forgetron
from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD
from forks.learners.nogd import NOGD
from forks.learners.projectron import Projectron
from forks.learners.projectron_pp import ProjectronPP
from forks.learners.pros_n_kons import PROSNKONS
from forks.learners.rbp import RBP
from forks.learners.skegd import SkeGD
from forks.learners.sketched_kons import SketchedKONS
from forks.losses import Hinge, Loss


class Setting(NamedTuple):
    """What all methods of a comparison have in common."""

    kernel: Kernel
    budget: int = 100
    n_rounds: int = 10_000
    loss: Loss = Hinge()  # of the methods that take one


class Method(NamedTuple):
    """One method."""

    name: str
    make: Callable[[Setting], Learner]
    bounded: bool = True  # does its memory stay bounded on an endless stream?
    regression: bool = True  # does it take regression losses?
    order: int = 1  # first or second


def _adaptive(setting: Setting) -> Adaptive:
    """With its own bandwidth: those of a setting are for rows that are not scaled."""
    own = {"bandwidth": 1.0} if hasattr(setting.kernel, "bandwidth") else {}
    kernel = setting.kernel._replace(**own)
    return Adaptive(
        kernel=kernel, loss=setting.loss, buffer=max(SMALLEST_BUFFER, 2 * setting.budget)
    )


CATALOGUE = (
    Method("KOGD", lambda s: KOGD(kernel=s.kernel, loss=s.loss), bounded=False),
    Method("RBP", lambda s: RBP(kernel=s.kernel, budget=s.budget), regression=False),
    Method("Forgetron", lambda s: Forgetron(kernel=s.kernel, budget=s.budget), regression=False),
    Method("Projectron", lambda s: Projectron(kernel=s.kernel, budget=s.budget), regression=False),
    Method(
        "Projectron++", lambda s: ProjectronPP(kernel=s.kernel, budget=s.budget), regression=False
    ),
    Method("BPA-S", lambda s: BPAS(kernel=s.kernel, budget=s.budget), regression=False),
    Method("BOGD", lambda s: BOGD(kernel=s.kernel, loss=s.loss, budget=s.budget)),
    Method(
        "BOGD non-uniform",
        lambda s: BOGD(kernel=s.kernel, loss=s.loss, budget=s.budget, removal="weighted"),
    ),
    Method("FOGD", lambda s: FOGD(kernel=s.kernel, loss=s.loss, budget=s.budget)),
    Method(
        "NOGD",
        lambda s: NOGD(
            kernel=s.kernel, loss=s.loss, budget=2 * s.budget, rank=max(1, s.budget // 10)
        ),
    ),
    Method(
        "SkeGD",
        lambda s: SkeGD.as_published(
            kernel=s.kernel, loss=s.loss, budget=s.budget, n_rounds=s.n_rounds
        ),
    ),
    Method(
        "SKETCHED-KONS",
        lambda s: SketchedKONS(kernel=s.kernel, loss=s.loss),
        bounded=False,
        order=2,
    ),
    Method(
        "PROS-N-KONS", lambda s: PROSNKONS(kernel=s.kernel, loss=s.loss), bounded=False, order=2
    ),
    Method(
        "PROS-N-KONS budgeted",
        lambda s: PROSNKONS(kernel=s.kernel, loss=s.loss, max_points=s.budget),
        order=2,
    ),
    Method(
        "FORKS as published",
        lambda s: FORKS.as_published(
            kernel=s.kernel, loss=s.loss, budget=s.budget, n_rounds=s.n_rounds
        ),
        order=2,
    ),
    Method("FORKS", lambda s: FORKS(kernel=s.kernel, loss=s.loss, budget=s.budget), order=2),
    Method("Adaptive", _adaptive, order=2),
)


def find(name: str) -> Method:
    """Return the row of this name; capitals, spaces and signs other than ++ do not matter."""
    for method in CATALOGUE:
        if _plain(method.name) == _plain(name):
            return method
    known = ", ".join(method.name for method in CATALOGUE)
    raise ValueError(f"no method {name!r}; there are {known}")


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum() or c == "+")
