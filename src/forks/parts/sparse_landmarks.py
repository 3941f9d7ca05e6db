"""A Gaussian kernel machine on sparse landmarks, whose cost goes with the entries that meet.

The first rows are kept as they come, entry by entry: (row, place of the feature, value). When as
many have come as there are to be landmarks, or the room for entries is full, those rows that are
independent in the kernel's space become landmarks z_1, ..., z_m (`parts.landmarks`), and

    psi(x) = [k(z_1, x), ..., k(z_m, x), 1],   k(z, x) = exp(-|z - x|^2 / (2 (w c)^2)),

c^2 the median squared distance of the kept rows and w the bandwidth. Rows are those of the linear
part (`parts.diagonal`): scaled, and 0 where they have no entry. theta'psi is fitted to the kept
rows (`parts.start`), and then takes Newton steps (`parts.newton`).

The entries are sorted by feature then, so that the products with all landmarks are made by going
through the entries that a row has in common with some: |z - x|^2 = |z|^2 + |x|^2 - 2 z'x. Nothing
is as long as the number of features. Entries of a row that share a place, by hashing, add up in
the products, and |x|^2 is the sum of their squares.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Counter, Limit, Matrix, Vector, njit
from forks.engine.blocks import LANES, exp_minus, load, splat, store, times
from forks.engine.rows import entries, feature, value
from forks.linalg import spd
from forks.parts import newton as newtons
from forks.parts import start
from forks.parts.diagonal import scaled, scaled_values
from forks.parts.landmarks import independent_rows, median_of_squares
from forks.parts.newton import Newton
from forks.parts.seen import NONE, key_of, place_of

KEPT, ENTRIES, WIDTH, OPEN = range(4)  # what `sizes` holds: rows; entries; m; are rows still kept?
LEAST_ROWS = 16
_LEAST_WEIGHT = 1e-5


class SparseLandmarks(NamedTuple):
    """Kept rows, later the landmarks among them."""

    sizes: Annotated[Counter, 4]
    scale: Annotated[Vector, 1]  # 1 / (2 (w c)^2)
    rows: Annotated[Counter, "room"]  # the row of each entry
    places: Annotated[Counter, "room"]  # its feature's place
    values: Annotated[Vector, "room"]  # as they came; scaled, once there are landmarks
    starts: Annotated[Counter, "places + 1"]  # where entries of a place begin
    norms: Annotated[Vector, "padded(landmarks + 1)"]  # |z_i|^2
    targets: Annotated[Matrix, "padded(landmarks + 1)", "outputs"]
    counted: Annotated[Vector, "padded(landmarks + 1)"]  # weights of the rows


def begin_landmarks(landmarks: SparseLandmarks, wanted: int) -> None:
    """Begin to keep rows, if landmarks are wanted."""
    landmarks.sizes[OPEN] = int(wanted > 0)


def landmark_limits(landmarks: SparseLandmarks, wanted: int, used: int) -> list[Limit]:
    """Return the bounds of what may be stored."""
    sizes = landmarks.sizes.tolist()
    n = sizes[ENTRIES]
    starts = landmarks.starts
    return [
        Limit("rows kept", sizes[KEPT], 0, wanted),
        Limit("entries kept", n, 0, len(landmarks.values)),
        Limit("number of landmarks", sizes[WIDTH], 0, sizes[KEPT]),
        Limit("mark of kept rows", sizes[OPEN], 0, int(wanted > 0)),
        Limit("rows of entries", landmarks.rows[:n], 0, max(0, sizes[KEPT] - 1)),
        Limit("places of entries", landmarks.places[:n], 0, used - 1),
        Limit("begins of entries", starts, 0, n),
        Limit("order of entries", np.diff(starts), 0, n),
        Limit("scale of the kernel", landmarks.scale, 0.0, math.inf),
    ]


def sort_entries(landmarks: SparseLandmarks) -> None:
    """Bring the entries of landmarks into the order of places, and note where each begins."""
    n = int(landmarks.sizes[ENTRIES])
    order = np.argsort(landmarks.places[:n], kind="stable")
    for array in (landmarks.rows, landmarks.places, landmarks.values):
        array[:n] = array[:n][order]
    places = np.arange(len(landmarks.starts))
    landmarks.starts[:] = np.searchsorted(landmarks.places[:n], places)


def fit(
    landmarks: SparseLandmarks,
    newton: Newton,
    sizes: Matrix,
    targets: Matrix,
    bandwidth: float,
    alpha: float,
    one_sided: bool,
) -> bool:
    """Choose landmarks among the rows kept, and fit theta to them; return whether that went well.

    `sizes` are those of the features, `targets` in their unit. With too few rows there will be no
    landmarks.
    """
    landmarks.sizes[OPEN] = 0
    n, kept = int(landmarks.sizes[ENTRIES]), int(landmarks.sizes[KEPT])
    if kept < LEAST_ROWS:
        landmarks.sizes[ENTRIES] = landmarks.sizes[KEPT] = 0
        return True
    places = landmarks.places[:n]
    values = scaled_values(sizes, places, landmarks.values[:n])
    K = _kernel_matrix(landmarks, values, kept, bandwidth)
    Phi, L, chosen = independent_rows(K)
    F = np.hstack([Phi, np.ones((kept, 1))])
    h = np.maximum(landmarks.counted[:kept], _LEAST_WEIGHT)
    w, B, solved = start.fit_or_prior(F, spd.squares(F), targets[:kept], h, alpha, one_sided)
    newtons.set_solution(newton, w, B, L)
    _keep_chosen(landmarks, values, chosen)
    return solved


def _kernel_matrix(
    landmarks: SparseLandmarks, values: Vector, kept: int, bandwidth: float
) -> Matrix:
    n = len(values)
    shape = kept, int(landmarks.places[:n].max(initial=0)) + 1
    Z = sparse.csr_array((values, (landmarks.rows[:n], landmarks.places[:n])), shape=shape)
    products = (Z @ Z.T).toarray()
    norms = np.diagonal(products).copy()
    squares = np.maximum(norms[:, None] + norms - 2.0 * products, 0.0)
    np.fill_diagonal(squares, 0.0)
    landmarks.norms[:kept] = norms
    landmarks.scale[0] = 0.5 / (bandwidth**2 * median_of_squares(squares))
    return np.asarray(np.exp(-landmarks.scale[0] * squares))


def _keep_chosen(landmarks: SparseLandmarks, values: Vector, chosen: Counter) -> None:
    """Leave the entries of landmarks only, numbered as these are, and sorted."""
    n = len(values)
    number = np.full(int(landmarks.sizes[KEPT]), NONE)
    number[chosen] = np.arange(len(chosen))
    rows = number[landmarks.rows[:n]]
    stays = rows != NONE
    left = int(stays.sum())
    landmarks.places[:left] = landmarks.places[:n][stays]
    landmarks.rows[:left], landmarks.values[:left] = rows[stays], values[stays]
    landmarks.norms[: len(chosen)] = landmarks.norms[chosen]
    landmarks.sizes[KEPT] = landmarks.sizes[WIDTH] = len(chosen)
    landmarks.sizes[ENTRIES] = left
    sort_entries(landmarks)


# ---- compiled --------------------------------------------------------------------------------


@njit
def keep_row(landmarks, seen, hash_bits, most, x, y, weight):
    """Keep a row; there is room for it, and its features have places."""
    sizes = landmarks.sizes
    n, row = sizes[ENTRIES], sizes[KEPT]
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            landmarks.rows[n] = row
            landmarks.places[n] = place_of(seen, key_of(hash_bits, feature(x, e)), most)
            landmarks.values[n] = value(x, e)
            n += 1
    for o in range(y.shape[0]):
        landmarks.targets[row, o] = y[o]
    landmarks.counted[row] = weight
    sizes[ENTRIES], sizes[KEPT] = n, row + 1


@njit
def write_psi(landmarks, diagonal_sizes, seen, hash_bits, most, x, square, psi):
    """Write psi(x), and zeros up to a whole block; `square` is |x|^2, scaled."""
    m = landmarks.sizes[WIDTH]
    starts = landmarks.starts
    for i in range(psi.shape[0]):
        psi[i] = 0.0
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            place = place_of(seen, key_of(hash_bits, feature(x, e)), most)
            if place != NONE:
                z = scaled(diagonal_sizes, place, value(x, e))
                for i in range(starts[place], starts[place + 1]):
                    psi[landmarks.rows[i]] += landmarks.values[i] * z
    scale = landmarks.scale[0]
    for i in range(m):
        psi[i] = max(landmarks.norms[i] + square - 2.0 * psi[i], 0.0)
    for i in range(0, m, LANES):
        store(exp_minus(times(splat(scale), load(psi, i))), psi, i)
    for i in range(m, psi.shape[0]):
        psi[i] = 0.0
    psi[m] = 1.0


@njit
def entries_of(x):
    """Return how many entries of a row are not 0."""
    n = 0
    for e in range(entries(x)):
        n += value(x, e) != 0.0
    return n
