"""How good probabilities are: log loss and Brier score."""

import numpy as np

from forks.evaluate.measures.recent import Recent, added, divided

_LEAST = float(np.finfo(np.float64).eps)  # probabilities below it are taken for it


class Probabilities:
    """Sums of the log loss and of the Brier score.

    The log loss is minus the logarithm of the probability of the right class. The Brier score is
    the sum of the squared errors of all probabilities; half of it for two classes, where the two
    errors are the same.
    """

    def __init__(self, window: int) -> None:
        self.rows = 0
        self.sums = [0.0, 0.0]
        self.recent = Recent(window, np.zeros((0, 2)))  # log loss and Brier score of rows

    def update(self, labels: np.ndarray, probabilities: np.ndarray) -> None:
        """Add the next rows: codes of labels, and probabilities of shape (n_rows, n_classes)."""
        of_label = probabilities[np.arange(len(labels)), labels]
        losses = -np.log(np.clip(of_label, _LEAST, 1.0))
        if probabilities.shape[1] == 2:
            errors = 2.0 * (1.0 - of_label) ** 2  # of both
        else:
            squares = np.einsum("ij,ij->i", probabilities, probabilities)
            errors = squares - of_label**2 + (1.0 - of_label) ** 2
        self.rows += len(labels)
        self.sums = [added(self.sums[0], losses), added(self.sums[1], errors)]
        self.recent.update_columns(losses, errors)

    def figures(self, n_classes: int) -> dict[str, float]:
        """Return the means over all rows, and over the last ones; nan without probabilities."""
        recent = self.recent.values.sum(axis=0)
        errors = 2.0 if n_classes == 2 else 1.0
        return {
            "log_loss": divided(self.sums[0], self.rows),
            "recent_log_loss": divided(recent[0], len(self.recent.values)),
            "brier_score": divided(self.sums[1] / errors, self.rows),
            "recent_brier_score": divided(recent[1] / errors, len(self.recent.values)),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything added up so far, for `restore`."""
        sums = np.array([self.rows, *self.sums])
        return {"probability_sums": sums, "probability_losses": self.recent.values}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned."""
        rows, *self.sums = arrays["probability_sums"].tolist()
        self.rows = int(rows)
        self.recent.values = arrays["probability_losses"]
