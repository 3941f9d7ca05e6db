"""The default classifier against random features.

A pass over cod-rna and over spambase, rows in random order, nothing tuned. scikit-learn:
`RBFSampler(400)` and `SGDClassifier`, in batches of 100, on features as they are, which costs it
mistakes and no time.
"""

from collections.abc import Iterator

from forks.experiments.bench._part import Number, Part
from forks.experiments.bench.efforts import passes

_OURS = 'OnlineKernelClassifier(effort="{0}")'


def measure(rows: int = 59_535, repeats: int = 7) -> Iterator[Number]:
    """Time whole passes, each row predicted before it is learned, fits and all."""
    yield from passes(["fast"], _OURS, f"time of {_OURS}", rows, repeats)


PART = Part(__doc__, measure, {"rows": 20_000, "repeats": 3})
