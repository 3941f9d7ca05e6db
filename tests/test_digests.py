"""Digests of what every learner computes: a change of structure may not change a bit.

A case plays a stream and takes two digests: of the scores, and of the numbers in the memory,
sorted, so that their order and their names may change. Other processors and other versions of the
numerical libraries round differently: there the mean score is compared, roughly.

``python tests/test_digests.py`` writes the digests of states anew, after a change of what is kept,
where the scores are as before; with ``--scores`` all of them, after a change that is meant to be
one. Names of methods after that leave the others as they are.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding
import numpy as np
import pytest
from scipy.sparse import csr_array

from forks.engine import Engine
from forks.kernels import Gaussian
from forks.learners.adaptive import Adaptive
from forks.learners.catalogue import CATALOGUE, Method, Setting
from forks.learners.forks import FORKS
from forks.losses import EpsilonInsensitive, Hinge, Huber, Logistic, SquaredError, SquaredHinge

KEPT = Path(__file__).with_name("digests.json")
LOSSES = {
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared error": SquaredError(),
    "epsilon insensitive": EpsilonInsensitive(),
    "huber": Huber(),
}
REGRESSION = ("squared error", "epsilon insensitive", "huber")
ROWS, WIDTH, OUTPUTS = 1500, 6, 3
EXTRA = (
    Method("Adaptive, large", lambda s: Adaptive(kernel=Gaussian(1.0), loss=s.loss)),
    Method("FORKS, carried", lambda s: FORKS(
        kernel=s.kernel, loss=s.loss, budget=s.budget, update_cycle=200, on_update="carry")),
)  # fmt: skip


class Case(NamedTuple):
    """A learner, a loss, a form of the rows and a number of outputs."""

    method: Method
    loss: str
    sparse: bool
    outputs: int

    @property
    def name(self) -> str:
        form = "sparse" if self.sparse else "dense"
        return f"{self.method.name}, {self.loss}, {form}, {self.outputs}"

    @property
    def is_quick(self) -> bool:
        """Has it machine code that other tests need, too?"""
        return self.loss == "hinge" or (self.loss == "squared error" and not self.sparse)

    def learner(self):
        return self.method.make(Setting(Gaussian(1.5), 20, ROWS, LOSSES[self.loss]))


def cases():
    setting = Setting(Gaussian(1.5), 20, ROWS)
    for method in (*CATALOGUE, *EXTRA):
        learner = method.make(setting)
        for loss in LOSSES if hasattr(learner, "loss") else ["hinge"]:
            if loss in REGRESSION and not method.regression:
                continue
            for sparse in (False, True):
                for outputs in (1, OUTPUTS) if learner.multi_output else (1,):
                    yield Case(method, loss, sparse, outputs)


def stream(case: Case):
    """Rows and targets whose concept changes after two thirds, and weights."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(ROWS, WIDTH))
    if case.sparse:
        X[rng.random(X.shape) < 0.5] = 0.0
    turn = np.where(np.arange(ROWS) < 2 * ROWS // 3, 1.0, -1.0)
    margins = np.column_stack(
        [X[:, o] * X[:, o + 1] + turn * X[:, o + 2] for o in range(case.outputs)]
    )
    y = margins if case.loss in REGRESSION else np.where(margins >= 0.0, 1.0, -1.0)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=ROWS)
    return csr_array(X) if case.sparse else X, np.ascontiguousarray(y), weights


def played(case: Case) -> dict[str, object]:
    X, y, weights = stream(case)
    engine = Engine(case.learner(), WIDTH, case.outputs, np.random.default_rng(3))
    scores = engine.learn(X, y, weights)
    floats, ints = engine.memory
    table = int(ints[0])  # the counts follow the table
    kept = floats[floats != 0.0], ints[table:][ints[table:] != 0]
    return {
        "scores": digest(scores + 0.0),
        "state": digest(*map(np.sort, kept)),
        "mean": float(np.abs(scores).mean()),
    }


def digest(*arrays) -> str:
    parts = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(parts).hexdigest()[:16]


def arithmetic() -> str:
    """What the last bit of a result hangs on."""
    libraries = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{platform.system()} {llvmlite.binding.get_host_cpu_name()} {libraries}"


def parameters():
    for case in cases():
        yield pytest.param(case, id=case.name, marks=[] if case.is_quick else pytest.mark.slow)


@pytest.mark.parametrize("case", list(parameters()))
def test_nothing_has_changed(case):
    kept = json.loads(KEPT.read_text())
    expected, ours = kept["cases"][case.name], played(case)
    if kept["arithmetic"] == arithmetic():
        assert ours == expected
    else:
        assert ours["mean"] == pytest.approx(expected["mean"], rel=0.02)


if __name__ == "__main__":
    names = tuple(word for word in sys.argv[1:] if word != "--scores")
    kept = json.loads(KEPT.read_text())["cases"]
    digests = {
        case.name: played(case) if case.name.startswith(names or "") else kept[case.name]
        for case in cases()
    }
    if "--scores" not in sys.argv[1:]:
        for name, ours in digests.items():
            if name in kept and ours["scores"] != kept[name]["scores"]:
                print(f"left as it was, since its scores have changed: {name}")
                digests[name] = kept[name]
    KEPT.write_text(json.dumps({"arithmetic": arithmetic(), "cases": digests}, indent=1) + "\n")
