"""Names for the arrays that travel between rooms: the kind of number and the dimension.

The arrays of a state also say how long their axes are: ``Annotated[Matrix, "outputs", "budget"]``
(`forks.engine.axes`).
"""

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = Annotated[NDArray[np.float64], float, 1]
Matrix: TypeAlias = Annotated[NDArray[np.float64], float, 2]
Cube: TypeAlias = Annotated[NDArray[np.float64], float, 3]
Counter: TypeAlias = Annotated[NDArray[np.int64], int, 1]  # integers that compiled code may change
