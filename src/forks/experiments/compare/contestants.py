"""Who is compared: the methods of the catalogue, the default, and models of River and scikit-learn.

A contestant makes a player for a problem. Those of elsewhere are named `river:` or `sklearn:`, then
the name of a class, with its module where that is not unique, and perhaps arguments:
``river:linear_model.LogisticRegression``, ``sklearn:SGDClassifier(loss="log_loss")``.
"""

import ast
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.evaluate import LearnerPlayer, player_for
from forks.evaluate.player import Player
from forks.evaluate.players import for_several_classes
from forks.experiments.compare.problem import REGRESSION, Comparison
from forks.kernels import Gaussian
from forks.learners.catalogue import CATALOGUE, Setting, find
from forks.losses import SquaredError

DEFAULT = "default"  # what `OnlineKernelClassifier()` and `OnlineKernelRegressor()` are


class Contestant(NamedTuple):
    """One column of answers."""

    name: str
    player: Callable[[Comparison, Any, int], Player]  # of what is compared, classes and a seed
    batch: bool = False  # are rows predicted in batches?


def chosen(methods: Sequence[str], models: Sequence[str], task: str) -> list[Contestant]:
    """Return the contestants that were named, or all of ours; then the models from elsewhere."""
    fitting = (method.name for method in CATALOGUE if task != REGRESSION or method.regression)
    ours = (_ours(name, task) for name in methods or (*fitting, DEFAULT))
    return [*ours, *(_theirs(text, task) for text in models)]


def _ours(name: str, task: str) -> Contestant:
    if name.lower() == DEFAULT:
        return Contestant(DEFAULT, _default_player)
    method = find(name)
    if task == REGRESSION and not method.regression:
        raise ValueError(f"{method.name} is for classification only")
    return Contestant(method.name, partial(_learner_player, method.name))


def _default_player(plan: Comparison, classes: Any, seed: int) -> Player:
    kind: Any = OnlineKernelRegressor if plan.task == REGRESSION else OnlineKernelClassifier
    return player_for(DEFAULT, kind(random_state=seed), classes=classes)


def _learner_player(name: str, plan: Comparison, classes: Any, seed: int) -> Player:
    loss = {"loss": SquaredError()} if plan.task == REGRESSION else {}
    kernel = Gaussian(plan.bandwidth)
    learner = find(name).make(Setting(kernel, plan.budget, plan.n_rows, **loss))
    # as an estimator with this random_state draws it
    drawn = np.random.RandomState(seed).randint(2**31 - 1)
    return LearnerPlayer(name, learner, seed=drawn, classes=classes)


# ---- from elsewhere ------------------------------------------------------------------------------


def _theirs(text: str, task: str) -> Contestant:
    package, colon, described = text.partition(":")
    makers = {"river": _river_class, "sklearn": _sklearn_class}
    if not colon or package not in makers:
        raise ValueError(f"--model takes river:NAME or sklearn:NAME, got {text!r}")
    path, arguments = _parsed(described, text)
    kind = makers[package](path, text)
    try:
        kind(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--model {text}: {error}") from None
    make = partial(_their_player, text, kind, arguments)
    player = make(None, None if task == REGRESSION else np.array([0, 1]), 0)
    if player.classifies == (task == REGRESSION):
        raise ValueError(f"--model {text} is not for {task}")
    return Contestant(text, make, batch=package == "sklearn")


def _parsed(described: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a class, and the keyword arguments behind it."""
    try:
        node: Any = ast.parse(described, mode="eval").body
        if not isinstance(node, ast.Call):
            return ast.unparse(node), {}
        if node.args:
            raise ValueError
        arguments = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
        return ast.unparse(node.func), arguments
    except (SyntaxError, ValueError):
        raise ValueError(
            f"--model {text}: arguments must be as in NAME(key=1, other='word')"
        ) from None


def _river_class(path: str, text: str) -> Any:
    module, dot, name = path.rpartition(".")
    if not dot:
        raise ValueError(f"--model {text}: name the module, as in river:linear_model.{name}")
    return _imported(f"river.{module}", name, text, "River", "forks-learn[river]")


def _sklearn_class(path: str, text: str) -> Any:
    module, dot, name = path.rpartition(".")
    if dot:
        return _imported(f"sklearn.{module}", name, text, "scikit-learn", "scikit-learn")
    from sklearn.utils import all_estimators

    known = dict(all_estimators())
    if name not in known:
        raise ValueError(f"--model {text}: scikit-learn has no {name}")
    return known[name]


def _imported(module: str, name: str, text: str, package: str, install: str) -> Any:
    try:
        import_module(module.split(".")[0])
    except ModuleNotFoundError as error:
        needed = f"--model {text} needs {package}: pip install '{install}'"
        raise ModuleNotFoundError(needed, name=error.name) from error
    try:
        return getattr(import_module(module), name)
    except (ModuleNotFoundError, AttributeError):
        raise ValueError(f"--model {text}: {package} has no {module}.{name}") from None


def _their_player(
    name: str, kind: Any, arguments: dict[str, Any], plan: Any, classes: Any, seed: int
) -> Player:
    del plan
    model = kind(**arguments)
    if hasattr(model, "learn_one"):
        several = classes is not None and len(classes) > 2
        model = for_several_classes(model) if several else model
    elif getattr(model, "random_state", seed) is None:
        model.set_params(random_state=seed)
    return player_for(name, model, classes=classes)
