"""River models on dicts with text, dates and gaps."""

import datetime
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from river import compose, preprocessing

import forks
from forks import ModelFileError, OnlineKernelClassifier
from forks.compat.river import (
    KernelClassifier,
    KernelMulticlassClassifier,
    KernelRegressor,
    load,
)
from forks.files import pack, unpack


def stream(n=600, seed=0):
    """Yield dicts and labels; the label is that of the user, unless the colour is red."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        user, colour = int(rng.integers(60)), str(rng.choice(["red", "green"]))
        x = float(rng.normal())
        label = x > 0 if colour == "red" else user % 2 == 0
        when = datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=t)
        gap = rng.random() < 0.1
        yield {"user": f"u{user}", "colour": colour, "x": None if gap else x, "when": when}, label


ROWS = list(stream())


def test_text_dates_and_gaps_are_learned():
    model, wrong = KernelClassifier(effort="fast"), 0
    for t, (x, y) in enumerate(ROWS):
        wrong += t >= 300 and model.predict_one(x) != y
        model.learn_one(x, y)
    assert wrong / 300 < 0.3  # a tenth of x is missing, and users have come ten times


@pytest.mark.parametrize("kind", [KernelClassifier, KernelMulticlassClassifier, KernelRegressor])
def test_frames_are_rows_one_by_one(kind):
    one, many = kind(effort="fast", seed=0), kind(effort="fast", seed=0)
    labels = [float(y) if kind is KernelRegressor else y for _, y in ROWS[:200]]
    for (x, _), y in zip(ROWS[:200], labels, strict=True):
        one.learn_one(x, y)
    frame = pd.DataFrame([x for x, _ in ROWS[:200]])
    many.learn_many(frame[:90], pd.Series(labels[:90]))
    many.learn_many(frame[90:], pd.Series(labels[90:]))
    again = pickle.loads(pickle.dumps(one))
    answers = [one.predict_one(x) for x, _ in ROWS[:20]]
    assert [many.predict_one(x) for x, _ in ROWS[:20]] == answers
    assert [again.predict_one(x) for x, _ in ROWS[:20]] == answers
    assert many.predict_many(frame[:20]).tolist() == answers


def test_the_label_of_a_row_is_not_in_its_features():
    models = [KernelClassifier(effort="fast", seed=0) for _ in range(2)]
    for x, y in ROWS[:100]:
        for model in models:
            model.learn_one(x, y)
    x, y = ROWS[100]
    first, second = (model._mixed.encode(x) for model in models)
    assert first == second
    models[0].learn_one(x, y)
    models[1].learn_one(x, not y)
    assert models[0]._mixed.encode(x) != models[1]._mixed.encode(x)


def test_numbers_alone_are_what_they_were():
    plain, mixed = KernelRegressor(effort="fast"), KernelRegressor(effort="fast")
    for x, _ in ROWS[:50]:
        row = {"x": x["x"] or 0.0}
        for model in (plain, mixed):
            model.learn_one(row, row["x"])
    assert plain._mixed is None
    mixed.learn_one({"x": math.nan}, 0.0)
    assert mixed._mixed is not None
    last = ROWS[49][0]["x"] or 0.0  # means begin when they are needed, with the last row
    assert mixed._mixed.encode({"x": None}) == {"x": last, "x missing": 1.0}
    mixed.learn_one({"x": 3.0}, 0.0)
    assert mixed._mixed.encode({"x": None})["x"] == pytest.approx((last + 3.0) / 2)


def test_what_is_no_value_is_refused():
    model = KernelClassifier(effort="fast")
    for x, y in ROWS[:20]:
        model.learn_one(x, y)
    before = pickle.dumps(model._mixed.means)
    for x, match in (
        ({"x": math.inf}, "feature 'x' must be a finite number, got inf"),
        ({"x": [1, 2]}, "feature 'x' must be a finite number"),
        ({"when": "soon"}, "feature 'when' must be a date or a time, got 'soon'"),
    ):
        with pytest.raises(ValueError, match=match):
            model.learn_one(x, True)
    assert pickle.dumps(model._mixed.means) == before


def test_in_a_pipeline_of_river():
    model = compose.Pipeline(
        compose.TransformerUnion(
            compose.Select("x") | preprocessing.StatImputer(), compose.Select("user")
        ),
        KernelClassifier(effort="fast"),
    )
    for x, y in ROWS[:50]:
        model.predict_one(x)
        model.learn_one(x, y)
    assert model.predict_one(ROWS[0][0]) in (True, False)


@pytest.mark.parametrize("kind", [KernelClassifier, KernelMulticlassClassifier, KernelRegressor])
@pytest.mark.parametrize("learner", ["adaptive", "kogd"])
@pytest.mark.parametrize("rows", [0, 20, 300])
def test_saved_models_go_on(kind, learner, rows, tmp_path):
    effort = "fast" if learner == "adaptive" else "balanced"
    model = kind(learner, seed=0, effort=effort)
    labels = [float(y) if kind is KernelRegressor else str(y) for _, y in ROWS]
    for (x, _), y in zip(ROWS[:rows], labels, strict=False):
        model.learn_one(x, y)
    model.save(tmp_path / "model.forks")
    again = load(tmp_path / "model.forks")
    for (x, _), y in zip(ROWS[rows : rows + 100], labels[rows:], strict=False):
        assert again.predict_one(x) == model.predict_one(x)
        for each in (model, again):
            each.learn_one(x, y)
    assert again.n_features == model.n_features


@pytest.mark.parametrize("missing", [pd.NaT, np.datetime64("NaT"), pd.NA])
def test_a_time_may_be_missing_before_the_first_one(missing):
    model, other = (KernelClassifier(effort="fast") for _ in range(2))
    for day in [missing, missing, pd.Timestamp("2024-05-01"), missing]:
        model.learn_one({"day": day, "a": 1.0}, True)
        other.learn_one({"day": None if day is missing else day, "a": 1.0}, True)
    x = {"day": pd.Timestamp("2024-05-03"), "a": 1.0}
    assert model.predict_proba_one(x) == other.predict_proba_one(x)


def test_files_that_are_no_river_models(tmp_path):
    OnlineKernelClassifier("kogd").fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model.forks")
    with pytest.raises(ModelFileError, match="no River model 'OnlineKernelClassifier'"):
        load(tmp_path / "model.forks")
    model = KernelClassifier(effort="fast")
    for x, y in ROWS[:30]:
        model.learn_one(x, y)
    model.save(tmp_path / "model.forks")
    with pytest.raises(ModelFileError, match=r"forks\.compat\.river\.load those of River"):
        forks.load(tmp_path / "model.forks")
    header, arrays = unpack("here", (tmp_path / "model.forks").read_bytes())
    library = header.pop("library")
    for name in ("format", "version", "digest"):
        header.pop(name, None)
    header["fitted"]["width"] = 3
    (tmp_path / "bad.forks").write_bytes(pack(header, arrays, library))
    with pytest.raises(ModelFileError, match="names of the features"):
        load(tmp_path / "bad.forks")
