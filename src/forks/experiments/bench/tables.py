"""Tables as they come.

The first rows of real tables, played by `forks run FILE --label COLUMN` with no other option; by
the same model on a table that was prepared by hand with pandas (gaps filled with the mean of the
whole column and marked, indicators or means of earlier labels for categories, times as points on
circles); by pipelines of River (running means for gaps, one-hot or target encoding, a scaler, and a
linear model by clipped gradients, one by passive-aggressive steps, a Hoeffding adaptive tree, or on
fewer rows an adaptive random forest; trees on tables of at most 200 columns); and by Vowpal Wabbit,
labels of regressions being scaled by the first 1,000. All play the same rows once, predicting each
before they learn it; files that are sorted by class are shuffled first. Errors are mistakes in %,
or root mean squared errors and mean absolute ones. The time of `forks run` is that of reading,
encoding, predicting and learning; the others have their rows ready in memory.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forks import OnlineKernelClassifier, OnlineKernelRegressor, datasets
from forks.evaluate import player_for
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._table_peers import (
    FOREST,
    PlayedTable,
    check_peers,
    outcome_of,
    play_river,
    play_vw,
    river_models,
    vw_options,
)
from forks.experiments.bench._tables import (
    LIBSVM,
    TABLES,
    Chosen,
    Taken,
    from_file,
    prepared,
    take,
)

_OURS, _BY_HAND = "forks run", "by hand"
_CHUNK = 10_000


def measure(
    rows: int = 20_000, forest_rows: int = 1_000, names: tuple[str, ...] = (), peers: bool = True
) -> Iterator[Number]:
    """Play every table that is at hand, or those of some names."""
    if peers:
        check_peers()
    for chosen in (*TABLES, *LIBSVM):
        if names and chosen.name not in names:
            continue
        if not datasets.at_hand(chosen.data):
            yield Number(chosen.name, reason="not at hand", column=_OURS)
            continue
        with tempfile.TemporaryDirectory() as folder:
            taken = take(chosen, rows, Path(folder))
            yield from _numbers(chosen, len(taken.y), _outcomes(taken, peers))
            if peers and chosen in TABLES and FOREST in river_models(taken):
                few = take(chosen, forest_rows, Path(folder))
                some = {_OURS: _run(few), FOREST: play_river(few, river_models(few)[FOREST]())}
                first = f"{chosen.name}, {len(few.y):,} rows"
                yield from _numbers(replace(chosen, name=first), len(few.y), some)


def _outcomes(taken: Taken, peers: bool) -> dict[str, PlayedTable]:
    """Play a table with all models but the forest, which gets fewer rows."""
    outcomes = {_OURS: _run(taken), _BY_HAND: _by_hand(taken)}
    if peers:
        for name, make in river_models(taken).items():
            if name != FOREST:
                outcomes[name] = play_river(taken, make())
        for name, options in vw_options(taken).items():
            outcomes[name] = play_vw(taken, options)
    return outcomes


def _numbers(chosen: Chosen, rows: int, outcomes: dict[str, PlayedTable]) -> Iterator[Number]:
    settings = {"rows": rows}
    unit = "%" if chosen.classifies else ""
    for column, (error, absolute, per_row) in outcomes.items():
        yield Number(chosen.name, error, unit, settings, column=column)
        if absolute is not None:
            yield Number(f"{chosen.name}, absolute", absolute, "", settings, column=column)
        yield Number(f"{chosen.name}, a row", per_row, "µs", settings, column=column)


def _model(chosen: Chosen) -> Any:
    return OnlineKernelClassifier() if chosen.classifies else OnlineKernelRegressor()


def _by_hand(taken: Taken) -> PlayedTable:
    classifies, model = taken.chosen.classifies, _model(taken.chosen)
    player = player_for(_BY_HAND, model, classes=np.unique(taken.y) if classifies else None)
    X = prepared(taken)
    answers = []
    for start in range(0, len(taken.y), _CHUNK):
        part = slice(start, start + _CHUNK)
        answers.append(player.play(np.ascontiguousarray(X[part]), taken.y[part]).answers)
    return outcome_of(taken, np.concatenate(answers), player.clock.seconds)


def _run(taken: Taken) -> PlayedTable:
    """Play the file with `forks run`, and once more in this process for the time."""
    path, chosen = taken.path, taken.chosen
    label = [] if chosen.label is None else ["--label", chosen.label]
    command = [sys.executable, "-m", "forks.cli", "run", str(path), *label, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{chosen.name}: {done.stderr.strip()[-500:]}")
    figures = json.loads(done.stdout)
    n, seconds = from_file(path, chosen.label, _model(chosen))
    per_row = 1e6 * sum(seconds.values()) / n
    if "mistake_rate" in figures:
        return PlayedTable(100.0 * figures["mistake_rate"], None, per_row)
    errors = figures["root_mean_squared_error"], figures["mean_absolute_error"]
    return PlayedTable(*errors, per_row)


PART = Part(__doc__, measure, {"rows": 5_000, "peers": False})
