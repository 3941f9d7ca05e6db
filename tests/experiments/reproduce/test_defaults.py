"""The default learner as an experiment: its plan and its table."""

import numpy as np
import pytest

from forks.experiments.report import to_markdown
from forks.experiments.reproduce.chapters.defaults import DEFAULT, VARIANTS, plan, tables
from forks.experiments.reproduce.chapters.table1 import ROWS
from forks.experiments.reproduce.playing import play
from forks.learners import Adaptive
from forks.losses import Hinge


def test_every_variant_differs_from_the_default_in_one_thing():
    runs = list(plan())
    assert len(runs) == 20 * (len(ROWS) + 4) * len(VARIANTS)
    assert len({run.key for run in runs}) == len(runs)
    made = {run.method: run.make_learner() for run in runs}
    assert made[DEFAULT] == Adaptive()
    for learner in made.values():
        changed = [f for f in vars(Adaptive()) if getattr(learner, f) != getattr(Adaptive(), f)]
        assert len(changed) == (learner != Adaptive())
    assert made["hinge"].loss == Hinge()


@pytest.mark.needs_data
def test_a_table_of_means():
    runs = [run for run in plan(2, ["german"]) if run.data == "german" and not run.repeats]
    records = [play(run) for run in runs]
    assert {record["status"] for record in records} == {"done"}
    text = to_markdown(tables(records))
    own = [r["mistakes"] / 10 for r in records if r["method"] == DEFAULT]
    assert f"| {DEFAULT} | {np.mean(own):.2f} ± {np.std(own):.2f} |" in text
    assert np.mean(own) < 27.0  # the majority class has 30
    for variant in VARIANTS:
        assert f"| {variant} |" in text
    assert "| µs a round |" in text
