"""Names for the arrays that travel between rooms. The number is the array's dimension."""

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = Annotated[NDArray[np.float64], 1]
Matrix: TypeAlias = Annotated[NDArray[np.float64], 2]
Cube: TypeAlias = Annotated[NDArray[np.float64], 3]
Counter: TypeAlias = Annotated[NDArray[np.int64], 1]  # integers that compiled code may change
