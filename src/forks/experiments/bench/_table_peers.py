"""Usual pipelines of River, and Vowpal Wabbit, on the rows of a table."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Vector
from forks.evaluate.clock import Clock
from forks.experiments.bench._tables import Chosen, Taken, pandas_or_missing
from forks.experiments.record import Missing, needed

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
    from river import forest, linear_model, multiclass, preprocessing, tree

    models: dict[str, Callable[[], Any]]
    if taken.chosen.classifies:
        several = multiclass.OneVsRestClassifier
        models = {
            "River, linear": lambda: several(linear_model.LogisticRegression()),
            "River, PA": lambda: several(linear_model.PAClassifier(C=0.01, mode=1)),
            "River, tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
            FOREST: lambda: forest.ARFClassifier(seed=0),
        }
    else:
        scaled, passive = preprocessing.TargetStandardScaler, linear_model.PARegressor
        models = {
            # without clipped gradients it diverges on some
            "River, linear": lambda: linear_model.LinearRegression(clip_gradient=10.0),
            "River, PA": lambda: scaled(passive(C=0.01, mode=1)),
            "River, tree": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=0),
            FOREST: lambda: forest.ARFRegressor(seed=0),
        }
    names = list(models)[:2] if taken.frame.shape[1] > _NARROW else list(models)
    return {name: partial(_pipeline, taken, models[name]) for name in names}


def _pipeline(taken: Taken, model: Callable[[], Any]) -> Any:
    """Return a model behind what makes its rows: trees for numbers cannot take words either.

    In a regression, the means of the label for each value stand for categories of many values.
    """
    from river import compose, feature_extraction, preprocessing, stats

    chosen = taken.chosen
    union: Any = compose.Select(*taken.numbers)
    gaps = [name for name in taken.numbers if taken.frame[name].isna().any()]
    if gaps:
        union = union | preprocessing.StatImputer(*((name, stats.Mean()) for name in gaps))
    words = [*chosen.few, *_parts_of_times(chosen)]
    if chosen.classifies:
        words += chosen.many
    else:
        first = float(np.nanmean(taken.y[:_FIRST]))
        for name in chosen.many:
            mean = stats.BayesianMean(first, 10)
            union = union + feature_extraction.TargetAgg(by=name, how=mean)
    union = union | preprocessing.StandardScaler()
    if words:
        union = union + (compose.Select(*words) | preprocessing.OneHotEncoder())
    return union | model()


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
    chosen, frame = taken.chosen, taken.frame
    columns: dict[str, list[Any]] = {}
    for name in taken.numbers:
        cells = frame[name].to_numpy(np.float64).tolist()
        columns[name] = [None if cell != cell else cell for cell in cells]
    for name in chosen.few:
        columns[name] = frame[name].astype(str).tolist()
    for name, part in _parts_of_times(chosen).items():
        times = pandas_or_missing().to_datetime(frame[chosen.time]).dt
        columns[name] = [f"{value}" for value in getattr(times, part)]
    for name in chosen.many:
        columns[name] = frame[name].astype(str).tolist()
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(columns, cells, strict=True))


def _parts_of_times(chosen: Chosen) -> dict[str, str]:
    """Return the parts that times are cut into, by the names of their columns."""
    parts = ("hour", "day_of_week", "month") if chosen.time else ()
    return {f"{chosen.time} {part}": part for part in parts}


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
    classes = np.unique(taken.y) if taken.chosen.classifies else None
    scale = _scale(taken)
    found, seconds = vw_predictions(list(_lines(taken, classes, scale)), options)
    if classes is None:
        return outcome_of(taken, scale[0] + scale[1] * found, seconds)
    several = "--oaa" in options
    chosen = found.astype(np.int64) - 1 if several else (found >= 0.0).astype(np.int64)
    return outcome_of(taken, classes[chosen], seconds)


def vw_predictions(lines: Sequence[str], options: str) -> tuple[Vector, float]:
    """Predict and learn rows in VW's text format; return the predictions, and the seconds."""
    with needed("Vowpal Wabbit", "vowpalwabbit"):
        from vowpalwabbit import pyvw
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
    return found, clock.seconds


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
    for label, row in zip(labels, _dicts(taken), strict=True):
        cells = [_cell(f"f{j}", value) for j, value in enumerate(row.values())]
        yield f"{label} | {' '.join(filter(None, cells))}"


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{name}={value.replace(' ', '_').replace(':', '_').replace('|', '_')}"
    return "" if value is None or value == 0.0 else f"{name}:{value:.9g}"
