"""Usual pipelines of River, and Vowpal Wabbit, on the rows of a table."""

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from forks.evaluate.clock import Clock
from forks.experiments.bench._tables import Taken, pandas_or_missing
from forks.experiments.record import Missing

FOREST = "River, forest"
_NARROW = 200  # columns: trees need minutes for a thousand rows with many more
_FIRST = 1_000  # rows whose labels tell where the means of categories and the scale of VW begin


class PlayedTable(NamedTuple):
    """What a model did with a table."""

    error: float  # mistakes in percent, or the root mean squared error
    absolute: float | None  # mean absolute error of a regression
    per_row: float  # microseconds


def outcome_of(taken: Taken, answers: Any, seconds: float) -> PlayedTable:
    """Compare answers with the labels of the rows that have one."""
    per_row = 1e6 * seconds / len(taken.y)
    if taken.chosen.classifies:
        return PlayedTable(100.0 * float(np.mean(answers != taken.y)), None, per_row)
    known = ~np.isnan(taken.y)
    apart = np.asarray(answers, np.float64)[known] - taken.y[known]
    return PlayedTable(math.sqrt(np.mean(apart**2)), float(np.mean(np.abs(apart))), per_row)


def check_peers() -> None:
    """Check that the peers are installed."""
    for package, name in (("river", "'forks-learn[river]'"), ("vowpalwabbit", "vowpalwabbit")):
        if find_spec(package) is None:
            raise Missing(f"{package} is not installed: pip install {name}")


# ---- River ---------------------------------------------------------------------------------------


def river_models(taken: Taken) -> dict[str, Callable[[], Any]]:
    """Return what makes the pipelines, by name."""
    linear = {
        "River, linear": lambda: _scaled(taken) | _linear(taken.chosen.classifies),
        "River, PA": lambda: _scaled(taken) | _passive(taken.chosen.classifies),
    }
    if taken.frame.shape[1] > _NARROW:
        return linear
    return {
        **linear,
        "River, tree": lambda: _scaled(taken) | _tree(taken.chosen.classifies),
        FOREST: lambda: _scaled(taken) | _forest(taken.chosen.classifies),
    }


def play_river(taken: Taken, pipeline: Any) -> PlayedTable:
    """Predict each row, then learn it if it has a label."""
    rows = list(_dicts(taken))
    labels = taken.y.tolist()
    answers: list[Any] = []
    clock = Clock()
    with clock.running():
        for x, y in zip(rows, labels, strict=True):
            answers.append(pipeline.predict_one(x))
            if y == y:  # not NaN
                pipeline.learn_one(x, y)
    if taken.chosen.classifies:
        return outcome_of(taken, np.array(answers, object), clock.seconds)
    return outcome_of(taken, [0.0 if a is None else a for a in answers], clock.seconds)


def _dicts(taken: Taken) -> Iterator[dict[str, Any]]:
    """Return rows: None for missing numbers, a word for missing categories; times in parts."""
    pandas, chosen, frame = pandas_or_missing(), taken.chosen, taken.frame
    columns: dict[str, list[Any]] = {}
    for name in taken.numbers:
        cells = frame[name].to_numpy(np.float64).tolist()
        columns[name] = [None if cell != cell else cell for cell in cells]
    for name in (*chosen.few, *chosen.many):
        columns[name] = frame[name].astype(str).tolist()
    if chosen.time is not None:
        times = pandas.to_datetime(frame[chosen.time]).dt
        for part in ("hour", "day_of_week", "month"):
            columns[f"{chosen.time} {part}"] = [f"{value}" for value in getattr(times, part)]
    names = list(columns)
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(names, cells, strict=True))


def _words(taken: Taken) -> list[str]:
    """Return the columns of words, but for those that become means."""
    chosen = taken.chosen
    parts = ("hour", "day_of_week", "month") if chosen.time else ()
    own = [*chosen.few, *(f"{chosen.time} {part}" for part in parts)]
    return [*own, *(chosen.many if chosen.classifies else ())]


def _imputed_numbers(taken: Taken) -> Any:
    from river import compose, preprocessing, stats

    gaps = [name for name in taken.numbers if taken.frame[name].isna().any()]
    chosen = compose.Select(*taken.numbers)
    if not gaps:
        return chosen
    return chosen | preprocessing.StatImputer(*((name, stats.Mean()) for name in gaps))


def _means(taken: Taken) -> list[Any]:
    """Return what makes the means of the label for each value of a category, in a regression."""
    from river import feature_extraction, stats

    if taken.chosen.classifies:
        return []
    first = float(np.nanmean(taken.y[:_FIRST]))
    return [
        feature_extraction.TargetAgg(by=name, how=stats.BayesianMean(first, 10))
        for name in taken.chosen.many
    ]


def _scaled(taken: Taken) -> Any:
    """Return what makes a row: trees for numbers cannot take words either."""
    from river import compose, preprocessing

    union = _imputed_numbers(taken)
    for part in _means(taken):
        union = union + part
    union = union | preprocessing.StandardScaler()
    if words := _words(taken):
        union = union + (compose.Select(*words) | preprocessing.OneHotEncoder())
    return union


def _linear(classifies: bool) -> Any:
    from river import linear_model, multiclass

    if classifies:
        return multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    return linear_model.LinearRegression(clip_gradient=10.0)  # by default it diverges on some


def _passive(classifies: bool) -> Any:
    from river import linear_model, multiclass, preprocessing

    if classifies:
        return multiclass.OneVsRestClassifier(linear_model.PAClassifier(C=0.01, mode=1))
    return preprocessing.TargetStandardScaler(linear_model.PARegressor(C=0.01, mode=1))


def _tree(classifies: bool) -> Any:
    from river import tree

    if classifies:
        return tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    return tree.HoeffdingAdaptiveTreeRegressor(seed=0)


def _forest(classifies: bool) -> Any:
    from river import forest

    return forest.ARFClassifier(seed=0) if classifies else forest.ARFRegressor(seed=0)


# ---- Vowpal Wabbit -------------------------------------------------------------------------------


def vw_options(taken: Taken) -> dict[str, str]:
    """Return the options of each variant, by name."""
    if not taken.chosen.classifies:
        return {"VW, squared": ""}
    n = len(np.unique(taken.y))
    several = f"--oaa {n} " if n > 2 else ""
    return {"VW, logistic": f"{several}--loss_function logistic", "VW, squared": several}


def play_vw(taken: Taken, options: str) -> PlayedTable:
    """Predict each row, then learn it if it has a label."""
    from vowpalwabbit import pyvw

    classes = np.unique(taken.y) if taken.chosen.classifies else None
    scale = _scale(taken)
    lines = list(_lines(taken, classes, scale))
    model = pyvw.Workspace(f"--quiet -b 18 {options}")
    found = np.empty(len(lines))
    several = "--oaa" in options
    clock = Clock()
    with clock.running():
        for t, line in enumerate(lines):
            example = model.parse(line)
            if line.startswith(" "):
                model.predict(example)
            else:
                model.learn(example)  # whose prediction was made before
            if several:
                found[t] = example.get_multiclass_prediction()
            else:
                found[t] = example.get_simplelabel_prediction()
            model.finish_example(example)
    model.finish()
    if classes is None:
        return outcome_of(taken, scale[0] + scale[1] * found, clock.seconds)
    chosen = found.astype(np.int64) - 1 if several else (found >= 0.0).astype(np.int64)
    return outcome_of(taken, classes[chosen], clock.seconds)


def _scale(taken: Taken) -> tuple[float, float]:
    """Return mean and deviation of the first labels, by which VW's are scaled."""
    if taken.chosen.classifies:
        return 0.0, 1.0
    first = taken.y[:_FIRST]
    return float(np.nanmean(first)), float(np.nanstd(first)) or 1.0


def _lines(taken: Taken, classes: Any, scale: tuple[float, float]) -> Iterator[str]:
    """Return rows in VW's text format; without a label they begin with a blank."""
    if classes is None:
        scaled = ((taken.y - scale[0]) / scale[1]).tolist()
        labels = ["" if y != y else f"{y:.9g}" for y in scaled]
    elif len(classes) == 2:
        labels = ["-1" if y == classes[0] else "1" for y in taken.y]
    else:
        labels = [str(place + 1) for place in np.searchsorted(classes, taken.y).tolist()]
    names = {name: f"f{j}" for j, name in enumerate([*taken.numbers, *_all_words(taken)])}
    for label, row in zip(labels, _dicts(taken), strict=True):
        cells = [_cell(names[name], value) for name, value in row.items()]
        yield f"{label} | {' '.join(filter(None, cells))}"


def _all_words(taken: Taken) -> list[str]:
    return list(dict.fromkeys([*_words(taken), *taken.chosen.many]))


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{name}={value.replace(' ', '_').replace(':', '_').replace('|', '_')}"
    return "" if value is None or value == 0.0 else f"{name}:{value:.9g}"
