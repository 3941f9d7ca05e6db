"""All compiled code also runs as plain Python, which is how it is debugged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import played

TESTS = Path(__file__).resolve().parents[1]

SCRIPT = """
import numpy as np
from scipy.sparse import csr_array

import adaptive_against_oracle
from forks import oracles
from forks.engine import compile as _jit
from forks.engine.random import uniform_in_python, integer, uniform
from forks.kernels import Gaussian, Laplacian
from forks.learners import FORKS, KOGD, Adaptive
from forks.losses import Hinge, Logistic, SquaredError, SquaredHinge
from forks_against_oracle import engine_run, oracle_kernel, oracle_loss, oracle_run

assert not _jit.JIT

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) * (rng.random((80, 4)) < 0.6)
y = np.sign(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=80))
y[:9] = 1.0  # labels never balance: a bias of 0 and one of 1e-17 would answer differently
SIZES = dict(buffer=12, sketch_size=8, n_landmarks=6, rank=3, update_cycle=7, cut=1e-8)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


for kernel, loss in ((Gaussian(1.5), Hinge()), (Laplacian(2.0), Logistic())):
    learner = KOGD(kernel=kernel, loss=loss)
    expected = oracles.kogd(X, y, oracle_kernel(kernel), oracle_loss(loss), learner.eta)
    for rows in (X, csr_array(X)):
        close(engine_run(learner, rows, y)[0], expected)

for learner in (
    FORKS(kernel=Gaussian(1.5), loss=SquaredHinge(), n_blocks=2, **SIZES),
    FORKS.as_released(kernel=Gaussian(1.5), **SIZES),
    FORKS.as_published(kernel=Laplacian(2.0), n_rounds=80, **SIZES),
):
    result = oracle_run(learner, X, y)
    assert result.switch_round is not None
    assert len(result.update_rounds) >= 2
    for rows in (X, csr_array(X)):
        scores, engine = engine_run(learner, rows, y)
        close(scores, result.scores)
        close(engine.predict(rows[:5]), engine.predict(X[:5]))
        assert not engine.compiled

for learner in (
    Adaptive(buffer=24),
    Adaptive(kernel=Laplacian(2.0), loss=Logistic(), buffer=24),
    Adaptive(loss=SquaredError(), buffer=24),
):
    expected, oracle = adaptive_against_oracle.oracle_run(learner, X, y.reshape(-1, 1))
    assert oracle.fits == [4, 8, 16, 24]
    for rows in (X, csr_array(X)):
        scores, _ = engine_run(learner, rows, y)
        np.testing.assert_allclose(scores, expected[:, 0], rtol=1e-7, atol=1e-7)

for size in (1e3, 1e150):  # log-odds beyond what exp can take
    engine = engine_run(Adaptive(loss=Logistic(), buffer=24), X, y)[1]
    engine.learner.view(engine.memory).newton.theta[:] *= size
    assert np.isfinite(engine.predict(X)).all()

with np.errstate(over="ignore"):  # the generator counts modulo 2^64
    state, same = np.array([5], np.int64), np.array([5], np.int64)
    for _ in range(100):
        assert float(uniform(state)) == uniform_in_python(same)
    assert all(0 <= integer(state, 7) < 7 for _ in range(100))
print("done")
"""


def run(*arguments):
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    result = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_without_compilation_everything_agrees_with_the_oracles():
    assert run("-c", SCRIPT).split() == ["done"]


def test_every_method_is_the_same_without_compilation():
    plain_methods, plain_experts = json.loads(run(played.__file__))
    assert len(plain_methods) > 12
    compiled = played.experts()
    assert all(len(compiled[f"{kind}, events"]) >= 3 for kind in ("classes", "numbers"))
    plain = plain_methods | plain_experts
    for name, scores in (played.methods() | compiled).items():
        assert np.std(scores) > 0.0
        np.testing.assert_allclose(plain[name], scores, rtol=1e-7, atol=1e-9, err_msg=name)
