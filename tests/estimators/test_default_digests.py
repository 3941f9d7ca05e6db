"""Digests of the scores of the default estimators with effort="fast": they may not change by a bit.

They were taken from `FORKSClassifier()` and `FORKSRegressor()` when those had that learner.
``python tests/estimators/test_default_digests.py`` writes them anew, after a change that is meant
to be one.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from test_digests import arithmetic, digest

KEPT = Path(__file__).with_name("default_digests.json")
ROWS = 1200
CASES = ("two classes", "three classes", "numbers")


def stream(case):
    """Rows on different scales, and labels or targets whose concept changes."""
    rng = np.random.default_rng(41)
    X = rng.normal(size=(ROWS, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0] + [0.0, 5.0, 0.0, -1.0, 0.0]
    X[:, 4] = np.exp(X[:, 4] / 3.0)
    turn = np.where(np.arange(ROWS) < 800, 1.0, -1.0)
    values = X[:, 0] * (X[:, 1] - 5.0) / 10.0 + turn * X[:, 3]
    values += 0.2 * rng.normal(size=ROWS)
    if case == "numbers":
        return X, 100.0 * values
    return X, np.digitize(values, [0.0] if case == "two classes" else [-1.0, 0.5])


def estimator(case):
    return OnlineKernelRegressor if case == "numbers" else OnlineKernelClassifier


def played(case, make=None):
    make = make or partial(estimator(case), effort="fast")
    X, y = stream(case)
    model, classes = make(), None if case == "numbers" else np.unique(y)
    parts = np.split(np.arange(ROWS), [1, 40, 700])
    scores = np.concatenate([model.prequential(X[p], y[p], classes=classes) for p in parts])
    return {"scores": digest(scores + 0.0), "mean": float(np.abs(scores).mean())}


@pytest.mark.parametrize("case", CASES)
def test_the_fast_default_is_what_it_was(case):
    kept = json.loads(KEPT.read_text())
    expected, ours = kept["cases"][case], played(case)
    if kept["arithmetic"] == arithmetic():
        assert ours == expected
    else:
        assert ours["mean"] == pytest.approx(expected["mean"], rel=0.02)


@pytest.mark.parametrize("case", CASES)
def test_the_name_stands_for_the_default(case):
    make = estimator(case)
    for effort in ("fast", "balanced"):
        expected = played(case, partial(make, effort=effort))
        assert played(case, partial(make, "Adaptive", effort=effort)) == expected
        with pytest.warns(FutureWarning, match='write learner="adaptive"'):
            assert played(case, partial(make, None, effort=effort)) == expected
    assert played(case, make) == expected


if __name__ == "__main__":
    digests = {case: played(case) for case in CASES}
    KEPT.write_text(json.dumps({"arithmetic": arithmetic(), "cases": digests}, indent=1) + "\n")
