"""Scores of every method, and of experts over time: as a script, for code that is not compiled."""

import json
import warnings
from unittest import mock

import numpy as np

from forks.engine import Engine
from forks.kernels import Gaussian
from forks.learners import Machine, OverTime, over_time, starting
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import SquaredError, SquaredHinge


def methods():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.sign(X[:, :1] + X[:, 1:2] * X[:, 2:])
    scores = {}
    for method in CATALOGUE:
        engine = Engine(method.make(Setting(Gaussian(1.5), 6, 90)), 3, 1, np.random.default_rng(0))
        scores[method.name] = engine.learn(X, y)[:, 0].tolist()
    return scores


@mock.patch.object(over_time, "EARLIEST", 50)  # starts come soon
@mock.patch.object(over_time, "FIRST", 40)
@mock.patch.object(starting, "FIRST", 40)
def experts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 3))
    f = X[:, :1] + X[:, 1:2] * X[:, 2:] * np.where(np.arange(260) < 150, 1.0, -1.0)[:, None]
    scores = {}
    for name, loss, Y in (
        ("classes", SquaredHinge(), np.where(f > 0.0, 1.0, -1.0)),
        ("numbers", SquaredError(), f),
    ):
        machine = Machine(loss=loss, buffer=16)
        learner = OverTime(learner=machine, long=machine, experts=4, window=500)
        engine = Engine(learner, 3, 1, np.random.default_rng(0))
        scores[name] = engine.learn(X, Y)[:, 0].tolist()
        scores[name + ", settled"] = engine.predict(X[:20])[:, 0].tolist()
        scores[name + ", events"] = [event["round"] for event in learner.events(engine.memory)]
    return scores


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the generator counts modulo 2^64
    print(json.dumps([methods(), experts()]))
