"""Models with keys in a service: the same bits however they come, after crashes, and bad keys."""

import numpy as np
import pytest
from kills import check, free_port, killed
from made_up import ask, feedback, learn, rows_and_labels

from forks.evaluate.files import read
from forks.files import ModelFileError
from forks.keyed import KeyedRegressor
from forks.serve.keeper import Keeper
from forks.serve.table_model import Settings

KEYED = Settings(effort="fast", key="city", max_keys=2)


def operations(task="classification", n=500):
    rows, labels = rows_and_labels(n, task=task)
    found, waiting = [], []
    for at in range(0, n, 20):
        part = slice(at, at + 20)
        if at % 100 == 60:
            ids = [f"row {i}" for i in range(at, at + 20)]
            found.append(ask(rows[part], ids, float(at), at))
            waiting += zip(ids, labels[part], strict=True)
        else:
            found.append(learn(rows[part], labels[part]))
        if at % 100 == 80:
            found.append(feedback([*waiting, ("nobody", labels[0])], float(at), at))
            waiting = []
            found.append(learn([{"u": 1.0, "v": 2.0}], labels[:1]))  # without its key
            found.append(learn([{"u": 1.0, "city": "x" * 5000}], labels[:1]))
    return found


def done(folder, found, group, checkpoint_at=()):
    keeper, outcomes = Keeper(folder, KEYED), []
    for start in range(0, len(found), group):
        outcomes += keeper.do(found[start : start + group])
        if start in checkpoint_at:
            keeper.checkpoint()
    return keeper, outcomes


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_same_bits_in_any_groups_and_after_crashes(tmp_path, task):
    found = operations(task)
    plain, outcomes = done(tmp_path / "plain", found, 1)
    refused = [outcome for outcome in outcomes if outcome.error is not None]
    assert len(refused) == 10
    assert {str(outcome.error).partition(": ")[2][:15] for outcome in refused} == {
        "the key is miss",
        "the key has 5,0",
    }
    assert plain.model.estimator.n_keys_ == 3
    grouped, _ = done(tmp_path / "grouped", found, 7, checkpoint_at=(7, 21))
    assert grouped.as_bytes() == plain.as_bytes()
    grouped.close()  # without a checkpoint: what came after the last one is done again
    again = Keeper(tmp_path / "grouped")
    assert again.replayed > 0
    assert again.as_bytes() == plain.as_bytes()
    answers = again.model.answer(operations()[10].content).labels
    assert answers == plain.model.answer(operations()[10].content).labels
    again.checkpoint()
    kept = read(tmp_path / "grouped" / "checkpoint.forks")
    assert kept.model.n_keys_ == 3
    for keeper in (plain, again):
        keeper.close()


def test_keys_matter_and_bad_ones_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"k": i % 3, "x": float(x)} for i, x in enumerate(rng.normal(size=900))]
    labels = [row["x"] * (row["k"] - 1) for row in rows]
    keeper = Keeper(tmp_path, Settings(effort="fast", key="k"))
    with pytest.raises(ValueError, match="row 2: the key is missing"):
        keeper.model.answer(learn([{"k": 1, "x": 0.0}, {"x": 0.0}], [0.0, 0.0]).content)
    (outcome,) = keeper.do([learn([{"x": 1.0}], [0.0])])
    assert "the key is missing" in str(outcome.error)
    assert keeper.model.rounds == 0
    keeper.do([learn(rows, labels)])
    asked = learn([{"k": k, "x": 2.0} for k in range(3)], [0.0] * 3).content
    answers = keeper.model.answer(asked).labels  # all lean on the last label
    np.testing.assert_allclose(np.diff(answers), [2.0, 2.0], atol=0.3)
    keeper.close()


def test_a_file_of_another_service_is_served(tmp_path):
    plain, _ = done(tmp_path / "one", operations(), 5)
    begun = Keeper(tmp_path / "two", begin=plain.as_bytes())
    batch = operations()[0].content
    assert begun.model.answer(batch) == plain.model.answer(batch)
    (outcome,) = begun.do([learn([{"u": 1.0, "v": 2.0, "city": "Paris"}], ["yes"])])
    assert outcome.error is None
    assert begun.model.estimator.n_keys_ == 4
    for keeper in (plain, begun):
        keeper.close()
    KeyedRegressor().partial_fit(["a", "b"], [[1.0], [2.0]], [1.0, 2.0]).save(tmp_path / "bare")
    with pytest.raises(ModelFileError, match="does not say which column has the keys"):
        Keeper(tmp_path / "three", begin=(tmp_path / "bare").read_bytes())


@pytest.mark.slow
def test_a_service_that_is_killed_learns_once_what_was_acknowledged(tmp_path):
    more = ("--key", "city", "--max-keys", "2")
    known, _ = killed(tmp_path / "state", 20, free_port(), more=more)
    rounds = check(tmp_path / "state", known, tmp_path / "plain", KEYED)
    assert rounds >= len(known.learned) > 200
