"""Names for the arrays that travel between rooms: the kind of number and the dimension.

An array of a learner's state that is as long as there are features, or outputs, says along which
of its axes: ``Annotated[Matrix, PER_OUTPUT]``. So a state can be made wider without knowing whose
it is (`forks.engine.memory.stretched`).
"""

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = Annotated[NDArray[np.float64], float, 1]
Matrix: TypeAlias = Annotated[NDArray[np.float64], float, 2]
Cube: TypeAlias = Annotated[NDArray[np.float64], float, 3]
Counter: TypeAlias = Annotated[NDArray[np.int64], int, 1]  # integers that compiled code may change


class Along(NamedTuple):
    """A mark on an array of a state: one of its axes runs over features or outputs."""

    what: str
    axis: int = 0


PER_FEATURE = Along("features")
PER_OUTPUT = Along("outputs")
