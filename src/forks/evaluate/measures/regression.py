"""All figures of a regressor, over a stream and over its last rows."""

from typing import Any

import numpy as np

from forks.evaluate.measures.errors import Errors


class RegressionMeasures:
    """Root mean squared and mean absolute error, R2, the median error, and lines to beat.

    One pass, bounded memory, and no bit depends on how the stream is cut into chunks.

    Parameters
    ----------
    window : int
        Rows of the figures whose names begin with "recent_".
    delay : int
        The label of a row comes when so many further rows have been predicted: the last label
        that can be repeated is older by as many.

    Examples
    --------
    >>> from forks.evaluate import RegressionMeasures
    >>> measures = RegressionMeasures()
    >>> measures.update([1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    >>> round(measures.figures()["r2"], 3)
    0.786
    """

    def __init__(self, window: int = 1000, delay: int = 0) -> None:
        self.errors = Errors(window, delay + 1)

    def update(self, y: Any, answers: Any) -> None:
        """Add the next rows.

        Parameters
        ----------
        y, answers : array of shape (n_rows,)
            Labels, and what was predicted.
        """
        self.errors.update(np.asarray(y, np.float64), np.asarray(answers, np.float64))

    def figures(self) -> dict[str, float]:
        """Return all figures by name, nan where there is none; see the guide for what each is."""
        return self.errors.figures()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything added up so far, for `restore`."""
        return self.errors.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned.

        Parameters
        ----------
        arrays : dict of arrays
        """
        self.errors.restore(arrays)
