"""Model files that are damaged, or made to do harm: their digest fits whatever they hold.

A file that loads is played on: whatever its arrays hold, scores are finite and learning goes on.
"""

import json
import lzma
import warnings
from functools import cache
from pathlib import Path

import numba
import numpy as np
from fuzzing import Target
from safetensors.numpy import save as save_tensors
from scipy import sparse

import forks
from forks import FORKSClassifier, FORKSRegressor, OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.saving import as_bytes, from_bytes
from forks.files.container import _digest, unpack
from forks.kernels import Gaussian
from forks.learners import FORKS, KOGD
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import SquaredError

WIDTH = 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, WIDTH))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
NAMES = np.array(["ant", "bee", "cat"])


def _models():
    """(name, model) of many kinds, before and after all that can happen to them."""
    yield "unfitted", FORKSClassifier(random_state=np.random.RandomState(3))
    yield "default", OnlineKernelClassifier().fit(X[:40], Y[:40])
    small = {"name": "adaptive", "budget": 8}
    yield "grown", OnlineKernelClassifier(small, class_weight="balanced").fit(X, Y)
    three = NAMES[Y[:60] + (X[:60, 2] > 1.0)]
    yield "classes", OnlineKernelClassifier(small).fit(X[:60], three)
    sketched = {"budget": 6, "update_cycle": 5, "landmarks": "refreshed", "random_state": 0}
    yield "sketched", FORKSClassifier(**sketched).fit(X, Y)
    yield "first", FORKSClassifier(**sketched).fit(X[:20], Y[:20])
    yield "settled", FORKSClassifier(**sketched).fit(np.vstack([X, X]), np.hstack([Y, Y]))
    yield "named", OnlineKernelClassifier("kogd").fit(X[:30], Y[:30])
    young = FORKSClassifier(update_cycle=5, random_state=0, class_weight={0: 2.0, 1: 0.5})
    yield "sparse", young.fit(sparse.csr_matrix(X[:17] * (X[:17] > 0)), Y[:17])
    yield "regressor", OnlineKernelRegressor(small).fit(X, X[:, 0] * X[:, 1])
    yield "sketched regressor", FORKSRegressor(**sketched).fit(X[:70], X[:70, 0])
    values = KOGD(kernel=Gaussian(1.0), loss=SquaredError())
    yield "values", OnlineKernelRegressor(values).fit(X[:50], X[:50, 0])
    setting = Setting(Gaussian(1.0), budget=10, n_rounds=100)
    for method in CATALOGUE:
        if method.name != "Adaptive":
            model = OnlineKernelClassifier(method.make(setting), random_state=0)
            yield method.name, model.fit(X, Y)
    three = OnlineKernelClassifier(CATALOGUE[6].make(setting), random_state=0)
    yield "BOGD of three", three.fit(X, NAMES[Y + (X[:, 2] > 0.5)])
    # after the switch, and so that every loss is an update round
    often = FORKS(kernel=Gaussian(1.0), budget=6, update_cycle=1, landmarks="refreshed")
    yield "often", OnlineKernelClassifier(often, random_state=0).fit(X, Y)


OLDER = Path(__file__).parents[1] / "files" / "older"


@cache
def _seeds():
    ours = [(name.replace(" ", "-") + ".forks", as_bytes(model)) for name, model in _models()]
    files = sorted(OLDER.glob("1[69]*.xz"))  # of versions whose learners kept other arrays
    return ours + [(path.stem, lzma.decompress(path.read_bytes())) for path in files]


@cache
def _contents():
    return [(name, *unpack(name, data)) for name, data in _seeds()]


@cache
def _compiled_kinds():
    """Types of rules that are at hand: a file with another kernel would be compiled for."""
    loaded = (from_bytes(name, data).model for name, data in _seeds())
    return {numba.typeof(model.engine_.rule) for model in loaded if hasattr(model, "engine_")}


# ---- headers -----------------------------------------------------------------------------------

_NUMBERS = (0, -1, 1, 2, 7, 2**31, 2**53 - 9, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**300)
_VALUES = (
    *_NUMBERS,
    0.5,
    -0.0,
    1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    None,
    True,
    False,
    "",
    "x",
    "nan",
    "\ud800\n\0",
    "y" * 5_000,
    [],
    {},
    [[]],
    [None] * 3,
    list(range(2_000)),
    {"kind": "float", "value": "nan"},
    {"kind": "float", "value": "inf"},
    {"kind": "float", "value": []},
    {"kind": "dict", "items": [[0, 1], [0, 2]]},
    {"kind": "dict", "items": [[{"kind": "Hinge"}, 1]]},
    {"kind": "dict", "items": [[1]]},
    {"kind": "RandomState"},
    {"kind": "Hinge"},
    {"kind": "Linear"},
    {"kind": "Gaussian", "bandwidth": 2.0},
    {"kind": "Gaussian", "bandwidth": True},
    {"kind": "Gaussian", "bandwidth": "wide"},
    {"kind": "Gaussian", "bandwidth": {"kind": "Gaussian", "bandwidth": 1.0}},
    {"kind": "Polynomial"},
    {"kind": "Learner"},
    {"kind": ["Hinge"]},
    {"kind": "__class__"},
)
_WORDS = ("median", "standard", "balanced", "carry", "reset", "refreshed", "poly", "laplacian")


def _places(node, above=()):
    """All paths of a JSON tree."""
    yield above
    items = node.items() if isinstance(node, dict) else enumerate(node[:3])
    for key, value in items:
        if isinstance(value, dict | list):
            yield from _places(value, (*above, key))
        else:
            yield (*above, key)


def _deep(rng):
    value = rng.choice((1, "x", None))
    for _ in range(rng.choice((50, 900, 3_000))):
        value = [value] if rng.random() < 0.5 else {"kind": value}
    return value


def _changed_header(header, rng):
    """Put something else in some place."""
    *way, last = rng.choice([path for path in _places(header) if path])
    node = header
    for key in way:
        node = node[key]
    match rng.randrange(9):
        case 0:
            del node[last]
        case 1 if isinstance(node, dict):
            node[rng.choice(("", "more", "kind", "\u2028"))] = rng.choice(_VALUES)
        case 1:
            node.append(rng.choice(_VALUES))
        case 2 if isinstance(node[last], int | float):
            node[last] += rng.choice((-1, 1, 0.5, 2**20))
        case 3:
            node[last] = _deep(rng)
        case 4:
            node[last] = rng.choice(_WORDS)
        case 5:  # what another file has there, or somewhere
            other = rng.choice(_contents())[1]
            for key in rng.choice([path for path in _places(other) if path]):
                other = other[key]
            node[last] = json.loads(json.dumps(other))
        case 6 if isinstance(node[last], int | float):
            node[last] = rng.choice(_NUMBERS)
        case _:
            node[last] = rng.choice(_VALUES)


def _packed(header, arrays, rng):
    """Return the bytes of a file, with a digest that fits if there can be one."""
    given = header.pop("digest", None)
    try:
        text = json.dumps(header)
        digest = _digest(json.loads(text), arrays)
    except (ValueError, RecursionError):
        digest = "0" * 64
    header["digest"] = digest if given is None or rng.random() < 0.5 else given
    try:
        text = json.dumps(header)
    except RecursionError:
        text = "[" * rng.choice((900, 100_000))
    if rng.random() < 0.05:
        text = text.replace(rng.choice(("1", "0", "null", "true", '"')), rng.choice(_TEXTS), 1)
    return bytes(save_tensors(arrays, {"forks": text} if rng.random() < 0.99 else None))


_TEXTS = ("1e999", "-1e999", "NaN", "[" * 100_000, "9" * 5_000, '"\\ud800"', '"\\u0000"', "{}", "")

# ---- arrays ------------------------------------------------------------------------------------

_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e150, -1e150, 1.7e308, -1.7e308, 1e17, 0.5)
_NOT_FINITE = (np.nan, np.inf, -np.inf)
_INTEGERS = (0, -1, 1, 2, 3, 5, 9, 11, 2**31, 2**53 - 9, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))


def _reformed(array, rng):
    """Return an array of another form or type."""
    match rng.randrange(6):
        case 0:
            return array[: array.shape[0] // 2]
        case 1:
            return np.concatenate([array, array])
        case 2:
            return array.astype(rng.choice((np.int64, np.float64, np.int32, np.uint8)))
        case 3:
            return array.reshape(1, *array.shape)
        case 4:
            return array.reshape(-1)[:0]
        case _:
            return array.astype(np.float32)


def _change_floats(flat, rng):
    draws = np.random.default_rng(rng.getrandbits(32))
    values = _FLOATS if rng.random() < 0.7 else (*_FLOATS, *_NOT_FINITE)
    match rng.randrange(5):
        case 0:
            flat[:] = rng.choice(values)
        case 1:
            flat[:] = draws.choice(values, flat.size)
        case 2:
            flat[:] = draws.normal(size=flat.size) * 10.0 ** rng.randrange(-300, 300)
        case 3:
            start = rng.randrange(flat.size)
            flat[start : start + rng.choice((8, 64, 512))] = rng.choice(values)
        case _:
            for _ in range(rng.choice((1, 1, 3, 30))):
                flat[rng.randrange(flat.size)] = rng.choice(values)


def _change_integers(flat, rng):
    limits = np.iinfo(flat.dtype)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        early = rng.random() < 0.5  # after a table, which must be right, come the counts
        first = min(4 * rng.randrange(10, 25), flat.size - 1) if early else 0
        at = rng.randrange(first, min(first + 20, flat.size) if early else flat.size)
        value = rng.choice((*_INTEGERS, rng.getrandbits(62)))
        if rng.random() < 0.5:
            value = int(flat[at]) + rng.choice((-2, -1, 1, 2, 8))
        flat[at] = min(max(value, limits.min), limits.max)


def _changed_array(array, rng):
    """Return an array with other numbers in it, or of another form."""
    with np.errstate(all="ignore"):
        if array.size == 0 or rng.random() < 0.1:
            return _reformed(array, rng)
        flat = array.flatten()
        _change_floats(flat, rng) if array.dtype.kind == "f" else _change_integers(flat, rng)
        return flat.reshape(array.shape)


def _changed_arrays(arrays, rng):
    if not arrays:
        arrays["engine.0.floats"] = np.zeros(3)
        return
    name = rng.choice(sorted(arrays))
    match rng.randrange(20):
        case 0:
            del arrays[name]
        case 1:
            arrays[rng.choice(("more", "note.more", "engine.9.floats"))] = arrays[name]
        case 2:
            others = rng.choice(_contents())[2]
            if others:
                arrays[name] = others[rng.choice(sorted(others))]
        case _:
            arrays[name] = _changed_array(arrays[name], rng)


def hostile(rng):
    """Make the name and the contents of a file whose digest fits."""
    name, header, arrays = rng.choice(_contents())
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    for _ in range(rng.choice((1, 1, 2))):
        try:
            if rng.random() < 0.4:
                _changed_header(header, rng)
            else:
                _changed_arrays(arrays, rng)
        except (TypeError, KeyError, IndexError, AttributeError, RecursionError):
            continue  # the first change has left no place for the second
    return name, _packed(header, arrays, rng)


# ---- what to do with a file --------------------------------------------------------------------


def play(path, rng):
    """Load it; if that works, predict, learn, predict and save."""
    model = forks.load(path)
    if not hasattr(model, "engine_") or numba.typeof(model.engine_.rule) not in _compiled_kinds():
        return
    warnings.simplefilter("ignore", RuntimeWarning)  # absurd numbers may overflow
    warnings.simplefilter("ignore", forks.MendWarning)
    start = rng.randrange(len(X) - 60)
    rows = X[start : start + 60, : model.n_features_in_]
    if model.n_features_in_ != rows.shape[1]:
        return
    if hasattr(model, "feature_names_in_"):
        return  # arrays without names are warned of
    _check_answers(model, rows)
    targets = rows[:, 0]
    if hasattr(model, "classes_"):
        targets = model.classes_[np.arange(len(rows)) % len(model.classes_)]
    scores = model.prequential(rows, targets)
    assert np.isfinite(scores).all(), "scores"
    _check_answers(model, rows)
    _check_again(path, model, rows)


def _check_again(path, model, rows):
    """Ask that what was loaded can be saved and loaded again, and that the two are the same."""
    data = as_bytes(model)
    try:
        again = from_bytes(str(path), data).model
    except forks.ModelFileError as error:
        raise AssertionError(f"what was loaded cannot be loaded again: {error}") from error
    assert as_bytes(again) == data, "what was loaded again is something else"
    assert model.predict(rows).tobytes() == again.predict(rows).tobytes(), "other answers"


def _check_answers(model, rows):
    answers = model.predict(rows)
    assert answers.shape == (len(rows),)
    if hasattr(model, "classes_"):
        assert np.isin(answers, model.classes_).all(), "labels"
        assert np.isfinite(model.decision_function(rows)).all(), "scores"
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(rows)
            assert ((chances >= 0.0) & (chances <= 1.0)).all(), "probabilities"
    else:
        assert np.isfinite(answers).all(), "values"


MODELS = Target(
    "models", _seeds, play, forks.ModelFileError, tokens=(b"forks", b"{}"), make=hostile
)
