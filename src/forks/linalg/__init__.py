"""Linear algebra: sketches, incremental decompositions and maintained factorisations."""

from forks.linalg._dense import leading_eigenpairs
from forks.linalg.sjlt import SJLT
from forks.linalg.smooth_pinv import apply_pinv, factorise, rank_one_update
from forks.linalg.svd import IncrementalSVD, RandomizedSVD, TruncatedSVD
from forks.linalg.tisvd import TISVD, eigen_update

__all__ = [
    "SJLT",
    "TISVD",
    "IncrementalSVD",
    "RandomizedSVD",
    "TruncatedSVD",
    "apply_pinv",
    "eigen_update",
    "factorise",
    "leading_eigenpairs",
    "rank_one_update",
]
