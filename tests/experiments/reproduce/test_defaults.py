"""The default learner as an experiment: its plan and its table."""

import numpy as np
import pytest

pytest.importorskip("forks.experiments.reproduce.figures", reason="the report needs matplotlib")

from forks.experiments.reproduce.ablation import ablation_table
from forks.experiments.reproduce.defaults import DEFAULT, VARIANTS, defaults
from forks.experiments.reproduce.document import to_markdown
from forks.experiments.reproduce.plans import EXPERIMENTS, FULL, ROWS
from forks.experiments.reproduce.runs import play
from forks.learners import Adaptive
from forks.losses import Hinge


def test_every_variant_differs_from_the_default_in_one_thing():
    runs = list(EXPERIMENTS["defaults"](FULL))
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
    records = [
        play(run) for run in defaults(["german"], 2) if run.data == "german" and not run.repeats
    ]
    assert {record["status"] for record in records} == {"done"}
    text = to_markdown(ablation_table(records))
    own = [r["mistakes"] / 10 for r in records if r["method"] == DEFAULT]
    assert f"| {DEFAULT} | {np.mean(own):.2f} ± {np.std(own):.2f} |" in text
    assert np.mean(own) < 27.0  # the majority class has 30
    for variant in VARIANTS:
        assert f"| {variant} |" in text
    assert "| µs a round |" in text
