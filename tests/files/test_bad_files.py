"""Files that are not what they should be: one error that names file and reason, nothing loaded."""

import json
import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors
from scipy import sparse

import forks
from forks import FORKSClassifier, ModelFileError, OnlineKernelClassifier
from forks.estimators.saving import as_bytes, from_bytes
from forks.files import pack, unpack
from forks.kernels import Gaussian
from forks.learners import RBP
from forks.learners.catalogue import CATALOGUE, Setting
from oracle_streams import made_up

WIDTH = 5
X, Y = made_up(160, WIDTH, 0)


def small_model():
    return OnlineKernelClassifier(RBP(budget=5), random_state=0).fit(X[:60], Y[:60])


def learner(header):
    return header["fitted"]["engine_"]["learner"]


def hostile(data, change):
    """A file whose content was changed, with a digest that fits."""
    header, arrays = unpack("made", data)
    change(header, arrays)
    for name in ("format", "version"):
        header.pop(name)
    return pack(header, arrays, header.pop("library"))


def test_every_damaged_byte_is_found(tmp_path):
    path = tmp_path / "model.forks"
    small_model().save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    places = [*range(0, len(data), 97), *rng.integers(0, len(data), 50), len(data) - 1]
    for at in places:
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"model\.forks cannot be loaded"):
            forks.load(path)


def test_every_file_cut_short_is_found(tmp_path):
    path = tmp_path / "model.forks"
    data = as_bytes(small_model())
    for length in [*range(0, 20), *range(20, len(data), 211), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match=r"model\.forks cannot be loaded"):
            forks.load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + bytes(200),
        b"-1 1:0.5 2:0.25\n" * 50,
        bytes(1000),
        b"\xff" * 1000,
        save_tensors({"weight": np.zeros(3)}),
        save_tensors({"weight": np.zeros(3)}, {"forks": "[" * 100_000}),
        save_tensors({"weight": np.zeros(3)}, {"forks": '{"format": "forks-model"}'}),
        save_tensors({"weight": np.zeros(3)}, {"forks": '"text"'}),
    ],
)
def test_foreign_files(data, tmp_path):
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(ModelFileError, match="other cannot be loaded"):
        forks.load(tmp_path / "other")


def test_a_pickle_is_not_run(tmp_path):
    """Loading runs no code: what would run in a pickle does not."""
    trap = tmp_path / "trap"
    code = f"cos\nsystem\n(S'touch {trap}'\ntR."
    (tmp_path / "model").write_bytes(code.encode())
    with pytest.raises(ModelFileError):
        forks.load(tmp_path / "model")
    assert not trap.exists()


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        forks.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        forks.load(tmp_path)


@pytest.mark.parametrize("version", [1, 2, 5])
def test_a_file_of_another_version_says_so(version):
    header, arrays = unpack("here", as_bytes(small_model()))
    text = json.dumps({**header, "version": version, "library": "9.1"})
    with pytest.raises(
        ModelFileError, match=rf"version {version} .* forks 9\.1.* reads versions 3 to 4"
    ):
        from_bytes("here", save_tensors(arrays, {"forks": text}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h, a: h.update(estimator="os.system"), "no estimator"),
        (lambda h, a: h.update(estimator="FORKSRegressor"), "parameters"),
        (lambda h, a: h.update(more=1), "too much"),
        (lambda h, a: h["parameters"].pop("learner"), "too little"),
        (lambda h, a: h["parameters"]["learner"].update(kind="Popen"), "no part 'Popen'"),
        (lambda h, a: h["parameters"]["learner"].update(args="ls"), "fields of RBP"),
        (lambda h, a: h["parameters"]["learner"].update(budget=-1), "budget must be"),
        (lambda h, a: h["parameters"]["learner"].update(budget=[1]), "stands for nothing"),
        (lambda h, a: h["parameters"].update(random_state={"kind": "RandomState"}), "RandomState"),
        (lambda h, a: h["fitted"].pop("engine_"), "too little"),
        (lambda h, a: h["fitted"]["engine_"].pop("rounds"), "too little"),
        (lambda h, a: h["fitted"].update(engine_=None), "engine"),
        (lambda h, a: h["fitted"]["engine_"].update(learner=None), "no learner"),
        (lambda h, a: h["fitted"].update(n_features_in_=6), "floats"),
        (lambda h, a: h["fitted"].update(n_features_in_=10**15), "floats"),
        (lambda h, a: h["fitted"].update(n_features_in_=True), "n_features is True"),
        (lambda h, a: h["fitted"]["engine_"].update(n_outputs=3), "3 outputs for 2 classes"),
        (lambda h, a: h["fitted"]["engine_"].update(rounds=-1), "rounds is -1"),
        (lambda h, a: h["fitted"]["engine_"].update(last_mends=[61]), "last_mends"),
        (lambda h, a: learner(h).update(budget=2**53), "floats"),
        (lambda h, a: learner(h).update(budget=10**30), "budget must be at most"),
        (lambda h, a: learner(h)["kernel"].update(bandwidth=-1.0), "bandwidth"),
        (lambda h, a: learner(h)["kernel"].update(bandwidth="x"), "bandwidth"),
        (lambda h, a: h["fitted"].update(feature_names_in_=["a"]), "1 feature names"),
        (lambda h, a: h["fitted"].update(feature_names_in_=[1] * 5), "no text"),
        (lambda h, a: h["fitted"].update(_labels=None), "no type"),
        (lambda h, a: h["fitted"]["_labels"].update(values=[1.0, -1.0]), "not sorted"),
        (lambda h, a: h["fitted"]["_labels"].update(values=[]), "too few"),
        (lambda h, a: h["fitted"]["_labels"].update(values=[1.0]), "class counts"),
        (lambda h, a: h["fitted"]["_labels"].update(values=[1.0], given=True), "too few"),
        (lambda h, a: h["fitted"]["_labels"].update(given=1), "too few"),
        (lambda h, a: h["fitted"]["_labels"].update(values=["1", "2"]), "not all of type"),
        (lambda h, a: h["fitted"]["_labels"].update(dtype="<U1000000000"), "no type"),
        (lambda h, a: h["fitted"]["_labels"].update(dtype="object"), "not all of type"),
        (lambda h, a: h["fitted"].update(_first_rows={}), "first rows"),
        (lambda h, a: a.pop("engine.0.ints"), "engine.0.ints"),
        (lambda h, a: a.update({"engine.1.ints": np.zeros(1)}), "no place"),
        (lambda h, a: a.update({"engine.0.ints": a["engine.0.ints"].astype(float)}), "float64"),
        (lambda h, a: a.update({"engine.0.ints": a["engine.0.ints"][:-1]}), "integers"),
        (lambda h, a: a.update({"engine.0.ints": a["engine.0.ints"][:3]}), "integers"),
        (lambda h, a: a.update({"engine.0.floats": a["engine.0.floats"][:, None]}), "shape"),
    ],
)  # fmt: skip
def test_content_that_cannot_be(change, reason):
    data = hostile(as_bytes(small_model()), change)
    with pytest.raises(ModelFileError, match=rf"here cannot be loaded: .*({reason})"):
        from_bytes("here", data)


def _first_rows(n=20, **changes):
    parameters = {"rank": 2, "budget": 20, "random_state": 0, **changes}
    model = FORKSClassifier(**parameters)
    rows = np.vstack([X, X])[:n]
    return as_bytes(model.partial_fit(rows, np.hstack([Y, Y])[:n], classes=[-1, 1]))


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 3},
        {"rows": 0},
        {"rows": 64},
        {"rows": -1},
        {"rows": 1000},
        {"done": 0},
        {"done": 64},
        {"done": 256, "rows": 0},
        {"done": 17},
        {"done": True},
        {"done": [16]},
        {"seed": -1},
        {"seed": None},
        {"metric": "cosine"},
        {"metric": "manhattan"},
        {"metric": ["euclidean"]},
        {"scaling": False},
        {"scaling": 1},
        {"sparse": True},
        {"more": 1},
    ],
    ids=str,
)
def test_first_rows_that_cannot_be(change):
    data = hostile(_first_rows(), lambda h, _: h["fitted"]["_first_rows"].update(change))
    with pytest.raises(ModelFileError):
        from_bytes("here", data)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("first.rows", lambda array: array[:-1]),
        ("first.rows", lambda array: array[:, :-1]),
        ("first.rows", lambda array: array * np.nan),
        ("first.rows", lambda array: array.astype(np.int64)),
        ("first.targets", lambda array: 0.5 * array),
        ("first.targets", lambda array: array[:, 0]),
        ("first.weights", lambda array: 0.0 * array),
        ("first.weights", lambda array: array * np.inf),
        ("first.scale", lambda array: array[:-1]),
        ("first.scale", lambda array: -array),
        ("first.scale", lambda array: array * 1e303),
        ("first.scale", lambda array: array * np.nan),
    ],
)
def test_arrays_of_first_rows_that_cannot_be(name, change):
    def changed(_, arrays):
        arrays[name] = change(arrays[name])

    with pytest.raises(ModelFileError):
        from_bytes("here", hostile(_first_rows(), changed))


def test_a_scale_stays_when_the_first_rows_are_gone():
    data = _first_rows(300)
    engine = {"engine.0.floats", "engine.0.ints"}
    assert set(unpack("", data)[1]) == {*engine, "first.scale", "means"}
    with pytest.raises(ModelFileError, match=r"first\.scale"):
        from_bytes("here", hostile(data, lambda _, arrays: arrays.pop("first.scale")))


@pytest.mark.parametrize(
    "means",
    [np.zeros((2, 9)), np.full((2, 4), np.nan), -np.ones((2, 4)), np.zeros((2, 4), np.int64)],
    ids=["width", "NaN", "negative counts", "integers"],
)
def test_means_that_cannot_be(means):
    data = as_bytes(OnlineKernelClassifier("kogd").fit(X[:20], Y[:20]))
    with pytest.raises(ModelFileError, match="means of the features"):
        from_bytes("here", hostile(data, lambda _, arrays: arrays.update(means=means)))


def test_class_counts_that_cannot_be():
    model = OnlineKernelClassifier(class_weight="balanced").fit(X[:20], Y[:20])
    for counts in (None, [1.0], [1.0, -1.0], ["a", "b"], [1e300, 1.0]):

        def change(header, _, counts=counts):
            header["fitted"]["_class_counts"] = counts

        data = hostile(as_bytes(model), change)
        with pytest.raises(ModelFileError, match="class counts"):
            from_bytes("here", data)


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
@pytest.mark.parametrize("learned", [30, 130])
def test_no_integer_leads_compiled_code_astray(method, learned):
    """Whatever an integer says, the file is refused, or the model works without harm.

    Half of the values after 30 rows, and the others after 130.
    """
    learner = method.make(Setting(Gaussian(1.5), 8, 160))
    model = OnlineKernelClassifier(learner, random_state=0).fit(X[:learned], Y[:learned])
    data = as_bytes(model)
    ints = unpack("", data)[1]["engine.0.ints"]
    few = np.unique(np.r_[: min(len(ints), 90), len(ints) - 1])
    accepted = 0
    for at in few:
        values = (-1, -(2**62), 2**31, 2**62, 2**63 - 1, 10**6)
        for value in (*values[(at + learned // 100) % 2 :: 2], int(ints[at]) + 1):

            def change(_, arrays, at=at, value=value):
                arrays["engine.0.ints"][at] = value

            try:
                again = from_bytes("here", hostile(data, change)).model
            except ModelFileError:
                continue
            accepted += 1
            scores = again.decision_function(X)
            assert scores.shape == (len(X),)
            again.partial_fit(X[:20], Y[:20])
    assert accepted < 0.5 * 4 * len(few)


# ---- what is accepted can be saved and loaded again --------------------------------------------

MODELS = {method.name: method for method in CATALOGUE}


@cache
def learned(name):
    """A model of many counters, as header and arrays."""
    made = MODELS[name].make(Setting(Gaussian(1.5), 8, 160))
    if hasattr(made, "update_cycle"):
        made = replace(made, update_cycle=5)
    return as_bytes(OnlineKernelClassifier(made, random_state=0).fit(X, Y))


def is_refused_or_lasts(data):
    """Load; play a hundred rows, save and load again. Was it refused at once?"""
    try:
        model = from_bytes("here", data).model
    except ModelFileError:
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = model.prequential(X[:100], Y[:100])
        assert np.isfinite(scores).all()
        again = from_bytes("again", as_bytes(model)).model
        assert as_bytes(again) == as_bytes(model)
        assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    return False


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [2**53 - 50, 2**53, 2**53 + 1])
def test_counters_near_their_bound(name, value):
    """They are held there in a file: no model outgrows what can be loaded."""
    data, refused = learned(name), 0
    counts = unpack("", data)[1]["engine.0.ints"]
    start, n = counts[:2]

    def rounds(header, arrays):
        header["fitted"]["engine_"]["rounds"] = value

    for at in range(start + 1, start + n):

        def change(header, arrays, at=at):
            rounds(header, arrays)
            arrays["engine.0.ints"][at] = value

        refused += is_refused_or_lasts(hostile(data, change))
    if value <= 2**53:
        assert not is_refused_or_lasts(hostile(data, rounds))
        assert refused < n - 1
    else:
        assert refused == n - 1


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-200, 1e200, 1.7e308, -1.7e308])
def test_numbers_that_overflow_later(name, value):
    """All floats, or those of one array."""
    data = learned(name)
    _, arrays = unpack("", data)
    table = arrays["engine.0.ints"]
    starts = {0, len(arrays["engine.0.floats"])}
    starts |= {int(s) for s in table[: table[0] : 4] if s < len(arrays["engine.0.floats"])}
    ends = sorted(starts)
    for start, end in [(0, ends[-1]), *pairwise(ends)]:

        def change(_, arrays, start=start, end=end):
            arrays["engine.0.floats"][start:end] = value

        is_refused_or_lasts(hostile(data, change))


@pytest.mark.parametrize("name", MODELS)
def test_fields_of_a_learner_that_are_out_of_all_bounds(name):
    data = learned(name)
    fields = learner(unpack("", data)[0])
    numbers = [key for key, value in fields.items() if type(value) in (int, float)]
    for key in numbers:
        for value in (2**53, 2**53 + 1, 2**63, 10**300, 10**400, -1, 0, 1e308, 5e-324, True):

            def change(header, _, key=key, value=value):
                learner(header)[key] = value

            is_refused_or_lasts(hostile(data, change))


def _sparse_rows():
    model = FORKSClassifier(update_cycle=5, random_state=0)
    rows = sparse.csr_matrix(np.where(X[:7] > 0.0, X[:7], 0.0))
    return as_bytes(model.partial_fit(rows, Y[:7], classes=[-1, 1]))


@pytest.mark.parametrize(
    ("part", "at", "value"),
    [
        ("indptr", -1, -1),  # SciPy's own check stops there, and its code reads wherever it likes
        ("indptr", -1, 1000),
        ("indptr", 0, 1),
        ("indptr", 3, 0),
        ("indices", 0, WIDTH),
        ("indices", 0, -1),
        ("data", 0, np.nan),
    ],
)
def test_sparse_rows_that_cannot_be(part, at, value):
    data = _sparse_rows()
    assert from_bytes("here", data).model.predict(X).shape == (160,)

    def change(_, arrays):
        arrays[f"first.{part}"][at] = value

    with pytest.raises(ModelFileError, match="first rows"):
        from_bytes("here", hostile(data, change))


@pytest.mark.parametrize("weight", ["much", -1.0, None])
def test_class_weights_that_cannot_be(weight):
    model = OnlineKernelClassifier(class_weight={-1: 2.0}).fit(X[:20], Y[:20])

    def change(header, _):
        header["parameters"]["class_weight"]["items"][0][1] = weight

    with pytest.raises(ModelFileError, match="class_weight"):
        from_bytes("here", hostile(as_bytes(model), change))
    model.set_params(class_weight={-1: weight})
    before = as_bytes(model)
    with pytest.raises(ValueError, match="class_weight"):
        model.partial_fit(X[20:30], Y[20:30])
    assert as_bytes(model) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(value):
    def change(_, arrays):
        arrays["engine.0.floats"][7] = value

    with pytest.raises(ModelFileError, match="not finite"):
        from_bytes("here", hostile(as_bytes(small_model()), change))


@pytest.mark.parametrize(
    "text", ["1e999", "[" * 2_000 + "]" * 2_000, '{"a":' * 900 + "1" + "}" * 900]
)
def test_headers_that_nobody_can_have_written(text):
    header, arrays = unpack("made", as_bytes(small_model()))
    whole = json.dumps({**header, "note": "here", "digest": "0"}).replace('"here"', text)
    with pytest.raises(ModelFileError, match=r"model\.forks cannot be loaded"):
        from_bytes("model.forks", bytes(save_tensors(arrays, {"forks": whole})))


@pytest.mark.parametrize("name", ["x" * 100_000, "a\nb\x1b[31m"])
def test_errors_are_one_short_line_whatever_they_quote(name):
    data = hostile(as_bytes(small_model()), lambda header, _: header.update(estimator=name))
    with pytest.raises(ModelFileError) as refused:
        from_bytes("here", data)
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()
