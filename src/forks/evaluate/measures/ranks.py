"""AUC: how often a row of a class is ranked above a row of another.

Over the last rows it is exact. Over all rows it is made from histograms whose bins get narrower
towards 0 and 1, or for scores towards 0: rows of one bin count as ties. So the exact value is
within half of the share of pairs that fall into one bin, which `auc_within` tells.
"""

import math

import numpy as np

from forks.evaluate.measures.recent import Recent, divided

MOST_CLASSES = 32  # beyond, there is no AUC
_BITS = 7  # of the mantissa: 128 bins for each power of two
_OCTAVES = 24
_HALF = _OCTAVES << _BITS  # bins on each side
_BINS = 2 * _HALF + 1  # one in the middle
_SHIFT = 52 - _BITS
_BIAS = 1023


class Ranks:
    """Histograms of what rows are ranked by, for each class those of the class and the others.

    Two classes have one column, that of the second; more have one each, and AUC is the mean over
    the classes that occurred, each against the rest.
    """

    def __init__(self, n_classes: int, window: int) -> None:
        self.n_classes = n_classes
        self.of_probabilities = True  # or of scores
        self.histograms = np.zeros((self._columns, 2, _BINS), np.int64)
        self.labels = Recent(window, np.zeros(0, np.int32))
        self.ranked = Recent(window, np.zeros((0, self._columns)))

    @property
    def _columns(self) -> int:
        if self.n_classes > MOST_CLASSES:
            return 0
        return 1 if self.n_classes == 2 else self.n_classes

    def _is_of(self, labels: np.ndarray, column: int) -> np.ndarray:
        return labels == (1 if self.n_classes == 2 else column)

    def update(self, labels: np.ndarray, ranked: np.ndarray, of_probabilities: bool) -> None:
        """Add the next rows: codes of labels, and what they are ranked by, a column each."""
        self.of_probabilities = of_probabilities
        bins = _bins_of_probabilities if of_probabilities else _bins_of_scores
        for column, histogram in enumerate(self.histograms):
            places = bins(ranked[:, column]) + _BINS * self._is_of(labels, column)
            histogram += np.bincount(places, minlength=2 * _BINS).reshape(2, -1)
        if len(self.histograms):
            self.labels.update(labels)
            self.ranked.update(ranked)

    def grow(self, places: np.ndarray, n_classes: int) -> None:
        """Make room for classes; rows seen so far rank lowest for the new ones."""
        old, labels, ranked = self.histograms, self.labels.values, self.ranked.values
        if self.n_classes == 2:  # the column of the first class is the mirror image of the second's
            old = np.concatenate([old[:, ::-1, ::-1], old])
            ranked = np.hstack([(1.0 if self.of_probabilities else 0.0) - ranked, ranked])
        had_columns = len(old) > 0
        self.n_classes = n_classes
        if not (had_columns and self._columns):
            self.histograms = np.zeros((self._columns, 2, _BINS), np.int64)
            self.labels.values, self.ranked.values = labels[:0], np.zeros((0, self._columns))
            return
        histograms = np.zeros((n_classes, 2, _BINS), np.int64)
        histograms[:, 0, 0] = old[0].sum()
        histograms[places] = old
        values = np.full((len(ranked), n_classes), 0.0 if self.of_probabilities else -np.inf)
        values[:, places] = ranked
        own = slice(1, None) if n_classes == 2 else slice(None)
        self.histograms, self.ranked.values = histograms[own].copy(), values[:, own].copy()
        self.labels.values = places[labels].astype(labels.dtype)

    def figures(self) -> dict[str, float]:
        """Return AUC over all rows, how far it may be off, and AUC over the last rows."""
        over_all = [_auc_of_histogram(*histogram) for histogram in self.histograms]
        return {
            "auc": _mean([area for area, _ in over_all]),
            "auc_within": _mean([within for _, within in over_all]),
            "recent_auc": _mean([
                auc(self._is_of(self.labels.values, j), column)
                for j, column in enumerate(self.ranked.values.T)
            ]),
        }  # fmt: skip

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`: of the bins, those with rows."""
        bins = np.flatnonzero(self.histograms)
        return {
            "ranks": np.array([self.n_classes, self.of_probabilities], np.int64),
            "bins": bins,
            "bin_counts": self.histograms.ravel()[bins],
            "ranked_labels": self.labels.values,
            "ranked": self.ranked.values,
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on counting from what `arrays` returned."""
        self.n_classes, of_probabilities = arrays["ranks"].tolist()
        self.of_probabilities = bool(of_probabilities)
        self.histograms = np.zeros((self._columns, 2, _BINS), np.int64)
        self.histograms.ravel()[arrays["bins"]] = arrays["bin_counts"]
        self.labels.values, self.ranked.values = arrays["ranked_labels"], arrays["ranked"]


def auc(positive: np.ndarray, ranked: np.ndarray) -> float:
    """Return the share of pairs, a positive row and another, in which the positive one is above.

    Ties count half; nan if all rows are positive, or none.
    """
    own, others = ranked[positive], np.sort(ranked[~positive])
    below = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
    return divided(below.sum() / 2.0, float(len(own)) * len(others))


def _auc_of_histogram(others: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Return AUC with rows of one bin as ties, and how far it may be off."""
    pairs = float(others.sum()) * float(positive.sum())
    below = np.cumsum(others) - others
    half = float(positive.astype(float) @ others) / 2.0  # of the ties
    return divided(float(positive.astype(float) @ below) + half, pairs), divided(half, pairs)


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return divided(sum(known), len(known))


def _bins_of_probabilities(p: np.ndarray) -> np.ndarray:
    """Return bins that get narrower towards 0 and 1, in the order of p."""
    upper = p > 0.5
    places = _places(np.where(upper, 1.0 - p, p), lowest=-1 - _OCTAVES)  # of the distance to an end
    return np.where(p == 0.5, _HALF, np.where(upper, 2 * _HALF - places, places))


def _bins_of_scores(scores: np.ndarray) -> np.ndarray:
    """Return bins that get narrower towards 0, in the order of the scores."""
    places = _places(np.abs(scores), lowest=-_OCTAVES // 2) + 1
    return _HALF + np.sign(scores).astype(np.int64) * places


def _places(sizes: np.ndarray, lowest: int) -> np.ndarray:
    """Return places 0 to _HALF - 1: exponent and first bits of the mantissa, from 2^lowest on."""
    bits = np.ascontiguousarray(sizes, np.float64).view(np.int64) >> _SHIFT
    return np.clip(bits - ((_BIAS + lowest) << _BITS), 0, _HALF - 1)
