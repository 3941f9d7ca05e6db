"""A run: one method on one stream, and the learner that plays it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from forks import learners
from forks.engine import Learner
from forks.engine.checks import one_of
from forks.experiments.record import key_of
from forks.kernels import Gaussian, kernel_row
from forks.linalg import TISVD, RandomizedSVD
from forks.losses import LOSSES

DECOMPOSITIONS: dict[str, Any] = {"TISVD": TISVD, "RandomizedSVD": RandomizedSVD}
SINGLE = 1.2e-7  # spacing of single precision at 1
_PRESETS = ("as_published", "as_released")
_LOSSES = LOSSES["classification"]


@dataclass(frozen=True)
class Run:
    """What is to be played.

    The learner is a class of `forks.learners`, or one of its presets: "FORKS.as_released"; or one
    of the decompositions, which follows a random matrix and plays no data. Of its arguments,
    "bandwidth" is that of the Gaussian kernel, "floor" the value below which the kernel counts as
    zero (see `FlooredGaussian`), and "loss" a name. The permutation is the number of a published
    order of the rows, or else the seed of an order; streams in the order of time keep it. It is
    the learner's seed, too.
    """

    experiment: str  # the table or figure
    data: str  # name of a data set, or path of a file
    method: str  # row of the table
    learner: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    permutation: int = 0
    repeats: int = 0  # of 500 points in the adversarial game; 0 for the data as they are
    rows: int = 0  # to play, 0 for all

    @property
    def key(self) -> str:
        """Identity: a hash of all fields."""
        return key_of(asdict(self))

    @property
    def needs_data(self) -> bool:
        """Whether it plays rows of a data set."""
        return self.learner not in DECOMPOSITIONS

    def make_learner(self) -> Learner:
        """Return the learner; raise `ValueError` for a name or an argument that is wrong."""
        name, _, preset = self.learner.partition(".")
        made: Any = getattr(learners, name, None)
        is_there = not preset or (preset in _PRESETS and hasattr(made, preset))
        if name not in learners.__all__ or not is_there:
            raise ValueError(f"learner must be one of forks.learners, got {self.learner!r}")
        arguments = dict(self.arguments)
        if not isinstance(arguments.get("bandwidth", ""), str):  # a word is the learner's own
            width, floor = float(arguments.pop("bandwidth")), arguments.pop("floor", None)
            arguments["kernel"] = (
                Gaussian(width) if floor is None else FlooredGaussian(width, float(floor))
            )
        if "loss" in arguments:
            one_of("loss", arguments["loss"], tuple(_LOSSES))
            arguments["loss"] = _LOSSES[arguments["loss"]]()
        return (getattr(made, preset) if preset else made)(**arguments)


class FlooredGaussian(NamedTuple):
    """The Gaussian kernel's value where it is at least `floor`, 0 elsewhere.

    A control for what single precision does. On raw features most rows of some data sets are far
    from all others. In double precision the score of such a row is a sum of tiny numbers, and its
    sign an answer like any other; in single precision what is small beside 1 is lost, the score is
    0, and the answer is +1.
    """

    bandwidth: float = 1.0
    floor: float = SINGLE


@kernel_row.register(FlooredGaussian)
def _floored_row(kernel, x, points, n, out):
    kernel_row(Gaussian(kernel.bandwidth), x, points, n, out)
    for i in range(n):
        if out[i] < kernel.floor:
            out[i] = 0.0
