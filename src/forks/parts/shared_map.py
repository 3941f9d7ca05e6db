"""A few features for many small models: the leading directions of a map of landmarks.

psi(x) has the kernel values of the landmarks, a linear part and a 1 (`parts.landmarks`), and the
inner product of hypotheses in whitened features F = [L^-1 k, x / sqrt(d)] is that of the kernel.
Rows that the map was fitted to have their largest moments F'F along a few directions V; the
features are

    phi(x) = [V'F(x), 1],

so that a prior of the identity is a Gaussian process whose kernel is the closest of this rank.
Gaps (NaN) are filled with the means of those rows. The map is fitted once or a few times at the
beginning of a stream, and then fixed: what was learned in its features stays valid.
"""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Counter, Limit, Matrix, Memory, Vector, allocate, entry, njit, viewer
from forks.engine.axes import shapes_of
from forks.engine.blocks import padded
from forks.kernels import Gaussian
from forks.linalg import spd
from forks.linalg.vectors import dot
from forks.parts.landmarks import (
    WIDTH,
    LandmarkMap,
    begin_map,
    fit_map,
    linear_features,
    map_limits,
    write_psi,
)

KERNEL = Gaussian()


class SharedMap(NamedTuple):
    """The map."""

    rank: Annotated[Counter, 1]  # directions in use, 0 before the first fit
    map: Annotated[LandmarkMap, "capacity = landmarks"]
    fill: Annotated[Vector, "features"]  # for gaps
    directions: Annotated[Matrix, "rank", "padded(landmarks + linear + 1)"]  # of psi


def new_map(n_features: int, landmarks: int, rank: int) -> Memory:
    """Return the memory of a map whose only feature is the 1."""
    memory = allocate(SharedMap, map_shapes(n_features, landmarks, rank))
    begin_map(viewer(SharedMap)(memory).map, linear_features(n_features, True))
    return memory


def map_shapes(n_features: int, landmarks: int, rank: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of a map."""
    linear = linear_features(n_features, True)
    lengths = {"features": n_features, "landmarks": landmarks, "linear": linear, "rank": rank}
    return shapes_of(SharedMap, lengths)


def shared_map_limits(view: SharedMap, landmarks: int) -> list[Limit]:
    """Return the bounds of what a stored map of so many landmarks may hold."""
    return [
        Limit("rank", view.rank, 0, len(view.directions)),
        *map_limits(view.map, linear_features(len(view.fill), True), landmarks),
    ]


def fit_shared_map(memory: Memory, X: Matrix, landmarks: int) -> Memory:
    """Return the map that rows call for; so many of them, spread evenly, may be landmarks."""
    memory = memory.copy()
    view = viewer(SharedMap)(memory)
    known = ~np.isnan(X)
    counts = known.sum(axis=0)
    view.fill[:] = np.where(known, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    X = np.where(known, X, view.fill)
    chosen = X[np.linspace(0, len(X) - 1, min(len(X), landmarks)).astype(int)]
    rows, _ = fit_map(view.map, KERNEL, chosen, np.ones(len(chosen)), True, True)
    F, m = rows.F[:, :-1], len(rows.chosen)
    values, vectors = np.linalg.eigh(F.T @ F)
    rank = min(len(view.directions), int(np.sum(values > 1e-9 * values[-1])))
    V = vectors[:, ::-1][:, :rank].copy()
    V *= np.where(V[np.abs(V).argmax(axis=0), np.arange(rank)] < 0.0, -1.0, 1.0)
    if m > 0:
        V[:m] = spd.solve_upper(rows.L, V[:m])
    view.directions[:] = 0.0
    view.directions[:rank, : len(V)] = V.T
    view.rank[0] = rank
    return memory


def features_of(memory: Memory, X: Matrix) -> Matrix:
    """Return phi of rows, which may have gaps."""
    view = viewer(SharedMap)(memory)
    phi = np.zeros((len(X), len(view.directions) + 1))
    width = view.directions.shape[1]
    scratch = np.zeros(width), np.zeros(padded(X.shape[1])), np.zeros(padded(X.shape[1]))
    _write_features.over()(KERNEL, view, np.ascontiguousarray(X), *scratch, phi)
    return phi


# ---- compiled --------------------------------------------------------------------------------


@entry
def _write_features(kernel, state, X, psi, x, z, phi):
    for t in range(X.shape[0]):
        _write_phi(kernel, state, X[t], psi, x, z, phi[t])


@njit
def _write_phi(kernel, state, row, psi, x, z, phi):
    """Write phi of a row."""
    d = row.shape[0]
    for j in range(d):
        x[j] = row[j] if row[j] == row[j] else state.fill[j]
    write_psi(kernel, state.map, x[:d], z, psi)
    psi[state.map.sizes[WIDTH]] = 0.0  # the 1, which phi has at its end
    rank = state.directions.shape[0]
    for i in range(rank):
        phi[i] = dot(state.directions[i], psi, state.map.sizes[WIDTH] + 1)
    phi[rank] = 1.0
