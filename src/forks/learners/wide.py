"""For wide sparse rows, of text say: linear parts of second order, and a kernel part beside them.

    row -> eight linear parts (parts.diagonal) --------> blend (parts.blend) -> answer
        -> sparse landmarks (parts.sparse_landmarks) -^

Where rows have thousands of features and a few hundred entries other than 0, a linear function is
most of what can be learned, and a kernel that compares whole rows with a few hundred others adds to
it. The linear parts have one variance for each weight, the kernel part has full second order on
its landmarks; which of them to believe, and how much, is learned from how they do.

**Cost.** A round takes time in proportion to the entries of the row, the entries that it shares
with landmarks, and the squared number of these. Memory goes with the features that have been seen
(`parts.seen`), up to 2^`table_bits` of them: about 190 bytes each, and 64 for every further output.
Beyond that features share places; with several outputs there are fewer, so that memory stays the
same. Nothing is as long as a row would be if it were dense.

**Hashing.** With `hash_bits` features are hashed into 2^`hash_bits` first.

**Regression.** Targets are brought to mean 0 and standard deviation 1, those of all rows so far,
and clipped at ten deviations, like slopes, so that absurd ones do little harm.

**Overflow.** A step that would not be finite is left out, and counted as a mend.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from forks.engine import (
    MANY,
    MENDS,
    RESUME,
    Growth,
    Learner,
    Limit,
    Matrix,
    Memory,
    Vector,
)
from forks.engine.blocks import LANES
from forks.engine.checks import whole
from forks.kernels import Gaussian, Kernel
from forks.learners.wide_round import (
    EVENT,
    FARTHEST,
    MORE_PLACES,
    MORE_ROOM,
    MOST_ROOM,
    ROUNDS,
    WideRule,
    WideState,
    WideWork,
)
from forks.losses import Loss, SquaredHinge, curvature
from forks.parts import blend as blending
from forks.parts import diagonal as linear
from forks.parts import sparse_landmarks as kernels
from forks.parts import targets as units
from forks.parts.blend import BlendRule
from forks.parts.conformal import ConformalRule, begin_quantiles, conformal_limits, threshold
from forks.parts.conformal import interval as conformal_interval
from forks.parts.seen import begin_seen, rebuild, seen_limits
from forks.parts.sparse_landmarks import KEPT, WIDTH
from forks.parts.targets import SPREAD

_FIRST_PLACES, _FIRST_ROOM = 2**10, 2**10
_ALPHA = 0.1  # prior of the kernel part
_LARGEST_VARIANCE = 1e12  # of the kernel part: independent rows are farther apart


@dataclass(frozen=True, kw_only=True)
class Wide(Learner):
    """Linear and kernel parts of second order for wide sparse rows.

    Parameters
    ----------
    kernel : Gaussian
        Its bandwidth is in units of the median distance of the first rows.
    loss : loss
        One of `forks.losses`.
    landmarks : int
        Rows that are compared with every row, 0 for none. The first ones are taken, as many as
        have 65,536 entries together.
    table_bits : int
        2^`table_bits` features have weights of their own, fewer if there are several outputs.
    hash_bits : int
        Into how many numbers features are hashed, as a power of two; 0 for no hashing.
    """

    kernel: Kernel = Gaussian(0.5)
    loss: Loss = SquaredHinge()
    landmarks: int = 512
    table_bits: int = 18
    hash_bits: int = 0

    multi_output = True
    events_need_rows = False
    state_class = WideState
    work_class = WideWork
    rule_class = WideRule

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Gaussian):
            raise ValueError(f"kernel must be Gaussian, got {self.kernel!r}")
        whole("landmarks", self.landmarks, 0, 4096)
        whole("table_bits", self.table_bits, 4, 26)
        whole("hash_bits", self.hash_bits, 0, 31)

    def derived(self) -> dict[str, Any]:
        """Return the rules of the parts, and what the loss is for."""
        classifies = self.tasks != ("regression",)
        return {
            "unit": float(curvature(self.loss, 0.0, 1.0)) or 1.0,
            "classifies": classifies,
            "blend": BlendRule(classifies),
            "conformal": ConformalRule(classifies),
            "places": 2**self.table_bits,
        }

    @cached_property
    def _rule(self) -> Any:
        return self.rule()

    def growing(self) -> dict[str, Growth]:
        """Return the lengths that grow: places of features, and room for entries of kept rows."""
        most = 2**self.table_bits
        return {
            "places": Growth(min(_FIRST_PLACES, most), most),
            "room": Growth(_FIRST_ROOM, MOST_ROOM),
        }

    def begin(self, view: WideState, rng: np.random.Generator) -> None:
        """Begin with what the parts begin with; nothing is drawn."""
        begin_seen(view.seen)
        linear.begin_diagonal(view.diagonal)
        kernels.begin_landmarks(view.landmarks, self.landmarks)
        blending.begin_blend(self._rule.blend, view.blend, LANES)
        begin_quantiles(self._rule.conformal, view.conformal)

    def limits(self, view: WideState) -> list[Limit]:
        """Return the bounds of what compiled code relies on."""
        used = int(view.seen.used[0])
        return [
            Limit("number of rounds", view.counts[ROUNDS], 0, MANY),
            *seen_limits(view.seen),
            *linear.diagonal_limits(view.diagonal),
            *kernels.landmark_limits(view.landmarks, self.landmarks, used),
            Limit("variances of the kernel part", view.newton.P.d, 0.0, _LARGEST_VARIANCE),
            *blending.blend_limits(self._rule.blend, view.blend),
            *conformal_limits(view.conformal),
            Limit("spread of the targets", view.targets.levels[SPREAD], 0.0, math.inf),
            Limit("moment of the targets", view.moment, 0.0, math.inf),
        ]

    def stored_points(self, memory: Memory) -> int:
        """Count the rows that are kept."""
        return int(self.view(memory).landmarks.sizes[KEPT])

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: WideState, x: Vector) -> Memory | None:
        """Make more room, or choose the landmarks."""
        event = int(view.counts[EVENT])
        if event == MORE_ROOM:
            return self.doubled(view, "room")
        if event == MORE_PLACES:
            return self._with_more_places(view)
        self._fit(view)
        view.counts[EVENT] = RESUME
        return None

    def _with_more_places(self, view: WideState) -> Memory:
        memory = self.doubled(view, "places")
        new = self.view(memory)
        new.seen.keys[:], new.seen.where[:] = 0, 0
        rebuild(new.seen, view.seen.keys, view.seen.where)
        linear.extend(new.diagonal, len(view.diagonal.sizes))
        if new.landmarks.sizes[WIDTH] > 0:
            kernels.sort_entries(new.landmarks)
        return memory

    def _fit(self, view: WideState) -> None:
        rule = self._rule
        y = view.landmarks.targets
        if not rule.classifies:
            y = np.clip(units.standardise(view.targets, y), -FARTHEST, FARTHEST)
        one_sided = rule.classifies and y.shape[1] == 1
        with np.errstate(over="ignore", invalid="ignore"):
            view.counts[MENDS] += not kernels.fit(
                view.landmarks,
                view.newton,
                view.diagonal.sizes,
                y,
                float(self.kernel.bandwidth),
                _ALPHA,
                one_sided,
            )

    # ---- what users ask for --------------------------------------------------------------------

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    def interval(self, memory: Memory, level: float, ahead: bool) -> tuple[float, float]:
        """Return what is to be added to predictions for the ends of intervals of a coverage."""
        return conformal_interval(self.view(memory).conformal, 0, level)

    def least_probability(self, memory: Memory, level: float, ahead: bool) -> float:
        """Return the least probability of a class in prediction sets of a coverage."""
        return threshold(self.view(memory).conformal, 0, level)
