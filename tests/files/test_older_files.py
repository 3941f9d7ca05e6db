"""Files of before: models whose learners kept other arrays load, answer as they did, and go on.

The files in ``older`` were written by the versions of those days, on 1,500 rows of `stream`, with
experts of a few landmarks; ``answers.json`` has what those versions said of the 20 rows after them.
"""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

import forks
from forks import OnlineKernelRegressor
from forks.estimators.saving import as_bytes, from_bytes
from forks.files import ModelFileError, pack, unpack

OLDER = Path(__file__).with_name("older")
ANSWERS = json.loads((OLDER / "answers.json").read_text())
LEARNED = 1500


def stream(n=2500):
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(LEARNED + 20, 2)), 3)
    return np.vstack([X, rng.normal(size=(n - len(X), 2))])


def targets(X, name):
    margin = np.sin(2 * X[:, 0]) + X[:, 1]
    bounds = {"two": [0.0], "three": [-0.7, 0.7]}
    return np.digitize(margin, bounds[name]) if name in bounds else margin


def content(name):
    return lzma.decompress((OLDER / f"{name}.forks.xz").read_bytes())


def answers(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


def test_every_file_has_its_answers():
    assert {path.name for path in OLDER.glob("*.xz")} == {f"{name}.forks.xz" for name in ANSWERS}


@pytest.mark.parametrize("name", ANSWERS)
def test_it_answers_as_it_did(name):
    model = from_bytes(name, content(name)).model
    said = answers(model, stream()[LEARNED : LEARNED + 20])
    assert model.n_rounds_ == LEARNED
    # whom to believe about rows without labels is weighed otherwise by now: standard deviation 1
    np.testing.assert_allclose(said, ANSWERS[name], rtol=0, atol=0.07 if "number" in name else 0.02)


@pytest.mark.parametrize("name", ANSWERS)
def test_it_goes_on(name, tmp_path):
    X, kind = stream(), name.rpartition("-")[2]
    y = targets(X, kind)
    model = from_bytes(name, content(name)).model
    said = model.prequential(X[LEARNED:], y[LEARNED:])
    if kind == "number":
        assert np.sqrt(np.mean((said - y[LEARNED:]) ** 2)) < 0.12
    else:
        said = model.classes_[said.argmax(axis=1) if said.ndim == 2 else (said >= 0.0).astype(int)]
        assert np.mean(said != y[LEARNED:]) < 0.09
    model.save(tmp_path / "model.forks")
    assert as_bytes(forks.load(tmp_path / "model.forks")) == as_bytes(model)


def changed(data, change):
    header, arrays = unpack("made", data)
    change(header, arrays)
    library = header.pop("library")
    for name in ("format", "version"):
        header.pop(name)
    return pack(header, arrays, library)


def model_bytes():
    X = stream()[:400]
    return as_bytes(OnlineKernelRegressor("forks", random_state=0).partial_fit(X, X[:, 0]))


def engine_of(header):
    return header["fitted"]["engine_"]


def with_one_more(header, arrays):
    """Let the memory have an integer more, as that of a version to come may."""
    lines = engine_of(header)["arrays"]["FORKS"]
    ints = arrays["engine.0.ints"]
    n = len(lines)
    table, rest = ints[: 4 * n].reshape(-1, 4).copy(), ints[4 * n :]
    whole = np.array([line.split(" ")[1] == "int" for line in lines])
    table[whole, 0] += 4
    end = 4 * (n + 1) + len(rest)
    arrays["engine.0.ints"] = np.concatenate([table.ravel(), [end, 1, 0, 0], rest, [7]])
    lines.append("news int 1")


def test_what_this_version_does_not_know_is_left_out():
    data = model_bytes()
    again = from_bytes("made", changed(data, with_one_more)).model
    assert as_bytes(again) == data


def test_a_file_of_version_3_does_not_say_what_it_has():
    data = model_bytes()

    def silent(header, arrays):
        del engine_of(header)["arrays"]

    assert as_bytes(from_bytes("made", changed(data, silent)).model) == data


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("news", "made cannot be loaded"),
        ("news int 4", "cannot have the array 'news int 4'"),
        ("news complex 1", "cannot have the array 'news complex 1'"),
        ("news float 1", "other arrays than the file says"),
        (7, "are no text"),
    ],
)
def test_wrong_lines_are_refused(line, reason):
    def wrong(header, arrays):
        engine_of(header)["arrays"]["FORKS"].append(line)

    with pytest.raises(ModelFileError, match=reason):
        from_bytes("made", changed(model_bytes(), wrong))


def without(dropped):
    """Return a model file of experts in which an array has a name that nobody knows."""

    def change(header, arrays):
        lines = engine_of(header)["arrays"]["OverTime"]
        (at,) = [i for i, line in enumerate(lines) if line.startswith(f"{dropped} ")]
        lines[at] = lines[at].replace(dropped, "unknown")

    return changed(as_bytes(from_bytes("here", content("19T07-two")).model), change)


@pytest.mark.parametrize("dropped", ["counts", "experts.weights", "memories.ints", "horizon.trust"])
def test_experts_without_what_they_need_are_refused(dropped):
    with pytest.raises(ModelFileError, match="made cannot be loaded"):
        from_bytes("made", without(dropped))


@pytest.mark.parametrize("dropped", ["recall.usual", "picks.turn"])
def test_experts_without_what_came_late_go_on(dropped):
    model = from_bytes("made", without(dropped)).model
    said = answers(model, stream()[LEARNED : LEARNED + 20])
    np.testing.assert_allclose(said, ANSWERS["19T07-two"], rtol=0, atol=0.02)
