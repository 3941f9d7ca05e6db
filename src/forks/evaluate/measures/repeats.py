"""The line that any model of a stream in time order must beat: to repeat the last label."""

import numpy as np

from forks.evaluate.measures.recent import Recent, divided


class Repeats:
    """Mistakes of answering with the label that came last.

    With labels that come late, the last one that has come is that of `lag` rows before. The first
    rows, which have none before them, count as mistakes.
    """

    def __init__(self, window: int, lag: int = 1) -> None:
        self.rows = 0
        self.mistakes = 0
        self.last = Recent(lag, np.zeros(0, np.int32))  # codes
        self.recent = Recent(window, np.zeros(0, bool))

    def update(self, labels: np.ndarray) -> None:
        """Count the next rows."""
        known = np.concatenate([self.last.values, labels])
        wrong = np.ones(len(labels), bool)
        n = max(0, len(known) - self.last.size)  # rows that have a label to repeat
        np.not_equal(known[-n:], known[:n], out=wrong[len(labels) - n :]) if n else None
        self.rows += len(labels)
        self.mistakes += int(np.count_nonzero(wrong))
        self.recent.update(wrong)
        self.last.update(labels)

    def grow(self, places: np.ndarray) -> None:
        """Give the classes new codes."""
        self.last.values = places[self.last.values].astype(self.last.values.dtype)

    def figures(self, accuracy: float, recent_accuracy: float) -> dict[str, float]:
        """Return the rates of mistakes, and kappa-temporal of a model of these accuracies.

        Kappa-temporal is 0 for a model that is as good as repeating the last label, 1 for one that
        makes no mistake, and negative for one that does worse.
        """
        rates = divided(self.mistakes, self.rows), self.recent.mean()
        return {
            "last_label_mistake_rate": rates[0],
            "recent_last_label_mistake_rate": rates[1],
            "kappa_temporal": divided(rates[0] - (1.0 - accuracy), rates[0]),
            "recent_kappa_temporal": divided(rates[1] - (1.0 - recent_accuracy), rates[1]),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`."""
        counts = np.array([self.rows, self.mistakes], np.int64)
        recent = self.recent.values.astype(np.uint8)
        return {"repeats": counts, "last_labels": self.last.values, "changes": recent}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on counting from what `arrays` returned."""
        self.rows, self.mistakes = arrays["repeats"].tolist()
        self.last.values = arrays["last_labels"]
        self.recent.values = arrays["changes"].astype(bool)
