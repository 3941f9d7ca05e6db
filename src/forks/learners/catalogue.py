"""The catalogue: one row per method, which drives the tests, `forks compare` and the benchmark.

A row makes the method's learner for a `Setting`: with the sizes that the FORKS paper gives every
method for a budget B (a buffer of 2 B for the two-stage methods, rank 0.1 B, 4 B random features'
frequencies, step size 0.2), as published by the method's own authors. What tests and experiments
must know of a method beside its learner are fields of its row.

The learners of the rows are what `forks.learners` exports.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from forks.engine import Learner
from forks.kernels import Gaussian, Kernel
from forks.learners.adaptive import Adaptive as Adaptive
from forks.learners.bogd import BOGD as BOGD
from forks.learners.bpas import BPAS as BPAS
from forks.learners.fogd import FOGD as FOGD
from forks.learners.forgetron import Forgetron as Forgetron
from forks.learners.forks import FORKS as FORKS
from forks.learners.kogd import KOGD as KOGD
from forks.learners.machine import SMALLEST_BUFFER
from forks.learners.machine import Machine as Machine
from forks.learners.nogd import NOGD as NOGD
from forks.learners.over_time import OverTime as OverTime
from forks.learners.projectron import Projectron as Projectron
from forks.learners.projectron_pp import ProjectronPP as ProjectronPP
from forks.learners.pros_n_kons import PROSNKONS as PROSNKONS
from forks.learners.rbp import RBP as RBP
from forks.learners.skegd import SkeGD as SkeGD
from forks.learners.sketched_kons import SketchedKONS as SketchedKONS
from forks.learners.wide import Wide as Wide
from forks.losses import Hinge, Loss
from forks.parts.sparse_landmarks import LEAST_ROWS


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
    order: int = 1  # first or second
    bounded: bool = True  # does its memory stay bounded on an endless stream?
    two_stages: bool = False  # does it fill a buffer first?
    has_features: bool = False  # can it show features in which its scores are linear?
    any_kernel: bool = True  # or only shift-invariant ones?
    rough: bool = False  # are its errors large where those of others are small?

    @property
    def regression(self) -> bool:
        """Does it take regression losses? Those without a loss are for classification."""
        return hasattr(self.make(Setting(Gaussian())), "loss")


def of(learner: type[Learner], **fixed: Any) -> Callable[[Setting], Learner]:
    """Return what makes a learner with the kernel, loss and budget of a setting, if it has them."""
    own: Any = learner
    names = {field.name for field in fields(own)} & {"kernel", "loss", "budget"}
    return lambda setting: own(**{name: getattr(setting, name) for name in names}, **fixed)


def _published(learner: Any) -> Callable[[Setting], Learner]:
    return lambda s: learner.as_published(
        kernel=s.kernel, loss=s.loss, budget=s.budget, n_rounds=s.n_rounds
    )


def _adaptive(setting: Setting) -> Adaptive:
    """With its own bandwidth: those of a setting are for rows that are not scaled."""
    own = {"bandwidth": 1.0} if hasattr(setting.kernel, "bandwidth") else {}
    buffer = max(SMALLEST_BUFFER, 2 * setting.budget)
    return Adaptive(kernel=setting.kernel._replace(**own), loss=setting.loss, buffer=buffer)


def _wide(setting: Setting) -> Wide:
    """With its own bandwidth, as `_adaptive`, and as many landmarks as others have points."""
    own = {"bandwidth": 1.0} if hasattr(setting.kernel, "bandwidth") else {}
    landmarks = max(LEAST_ROWS, 2 * setting.budget)
    return Wide(kernel=setting.kernel._replace(**own), loss=setting.loss, landmarks=landmarks)


# fmt: off
CATALOGUE = [
    Method("KOGD", of(KOGD), bounded=False),
    Method("RBP", of(RBP)),
    Method("Forgetron", of(Forgetron)),
    Method("Projectron", of(Projectron)),
    Method("Projectron++", of(ProjectronPP)),
    Method("BPA-S", of(BPAS)),
    Method("BOGD", of(BOGD), rough=True),
    Method("BOGD non-uniform", of(BOGD, removal="weighted"), rough=True),
    Method("FOGD", of(FOGD), has_features=True, any_kernel=False),
    Method("NOGD", lambda s: of(NOGD, rank=max(1, s.budget // 10))(s._replace(budget=2 * s.budget)),
           two_stages=True, has_features=True),
    Method("SkeGD", _published(SkeGD), two_stages=True, has_features=True),
    Method("SKETCHED-KONS", of(SketchedKONS), order=2, bounded=False),
    Method("PROS-N-KONS", of(PROSNKONS), order=2, bounded=False, has_features=True),
    Method("PROS-N-KONS budgeted", lambda s: of(PROSNKONS, max_points=s.budget)(s),
           order=2, has_features=True),
    Method("FORKS as published", _published(FORKS), order=2, two_stages=True, has_features=True),
    Method("FORKS", of(FORKS), order=2, two_stages=True, has_features=True),
    Method("Adaptive", _adaptive, order=2),
    Method("Wide", _wide, order=2, any_kernel=False),
]
# fmt: on


def register(method: Method) -> None:
    """Add a method of your own to the catalogue of this process."""
    if any(_plain(known.name) == _plain(method.name) for known in CATALOGUE):
        raise ValueError(f"there is a method {method.name!r} already")
    CATALOGUE.append(method)


def find(name: str) -> Method:
    """Return the row of this name; capitals, spaces and signs other than ++ do not matter."""
    for method in CATALOGUE:
        if _plain(method.name) == _plain(name):
            return method
    known = ", ".join(method.name for method in CATALOGUE)
    raise ValueError(f"no method {name!r}; there are {known}")


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum() or c == "+")
