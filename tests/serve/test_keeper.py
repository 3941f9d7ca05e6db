"""A model on disk: the same bits however operations are grouped, and after every crash."""

import shutil
import sqlite3

import numpy as np
import pytest
from made_up import ask, feedback, learn, rows_and_labels

from forks import OnlineKernelClassifier
from forks.estimators.saving import from_bytes
from forks.serve.keeper import Keeper
from forks.serve.operations import from_record
from forks.serve.table_model import FIRST, Settings

FAST = Settings(effort="fast")


def operations(task="classification", n=700):
    """Learning in pieces of every size, rows that wait, their labels, and things that fail."""
    rows, labels = rows_and_labels(n, task=task)
    rng = np.random.default_rng(1)
    at, found, waiting = 0, [], []
    while at < n:
        size = int(rng.choice([1, 1, 2, 5, 40]))
        part = slice(at, at + size)
        kind = rng.integers(5)
        if kind == 0 and at > 300:
            names = [f"row {i}" for i in range(at, min(n, at + size))]
            found.append(ask(rows[part], names, float(at), at))
            waiting += zip(names, labels[part], strict=True)
        elif kind == 1 and waiting:
            items, waiting = waiting[:7], waiting[7:]
            found.append(feedback([*items, ("nobody", labels[0])], float(at), at))
            continue
        elif kind == 2 and at > 150:
            found.append(learn([{"u": "not a number", "city": "Oslo"}], labels[:1]))
            found.append(learn(rows[part], labels[part], weights=[0.5] * len(rows[part])))
        else:
            found.append(learn(rows[part], labels[part]))
        at += size
    return found


def done(folder, found, group, settings=FAST, checkpoint_at=()):
    keeper = Keeper(folder, settings)
    outcomes = []
    for start in range(0, len(found), group):
        outcomes += keeper.do(found[start : start + group])
        if start in checkpoint_at:
            keeper.checkpoint()
    data = keeper.as_bytes()
    keeper.close()
    return data, outcomes


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_and_crashes_change_no_bit(tmp_path, task):
    found = operations(task)
    alone, outcomes = done(tmp_path / "alone", found, 1)
    together, same = done(tmp_path / "together", found, 16, checkpoint_at=(0, 32))
    assert alone == together
    assert [(o.answers, o.fates, str(o.error)) for o in outcomes] == [
        (o.answers, o.fates, str(o.error)) for o in same
    ]
    errors = [o.error for o in outcomes if o.error is not None]
    assert all("'not a number' is not a number" in str(error) for error in errors)
    assert len(errors) > 10
    for name in ("alone", "together"):  # as after SIGKILL: nothing was closed
        shutil.copytree(tmp_path / name, tmp_path / "copy", dirs_exist_ok=False)
        keeper = Keeper(tmp_path / "copy")
        assert keeper.as_bytes() == alone
        assert keeper.replayed == (len(found) if name == "alone" else len(found) - 48)
        keeper.close()
        shutil.rmtree(tmp_path / "copy")


def test_groups_change_nothing_of_which_class_is_one_too_many(tmp_path):
    rows, labels = rows_and_labels(400)
    found = [learn(rows[:200], labels[:200])]
    for i in range(200, 400):  # each label comes twice
        found.append(learn(rows[i : i + 1], [f"class {i // 2}"]))
        found.append(ask(rows[i : i + 1], [f"id {i}"], float(i), i))
        found.append(feedback([(f"id {i}", f"class {i // 2 + 1}")], float(i), i))
    few = Settings(effort="fast", max_classes=7)
    alone, outcomes = done(tmp_path / "alone", found, 1, few)
    together, same = done(tmp_path / "together", found, 64, few)
    assert alone == together
    assert [(o.fates, str(o.error)) for o in outcomes] == [(o.fates, str(o.error)) for o in same]
    fates = [fate for o in outcomes for fate in (o.fates or {}).values()]
    assert (fates.count("learned"), fates.count("refused")) == (8, 192)
    assert sum(o.error is not None for o in outcomes) == 190
    assert len(from_bytes("it", alone).model.classes_) == 7


@pytest.mark.parametrize("fault", ["no column is left", "is not a number"])
def test_a_beginning_that_fails_leaves_the_model_as_it_was(tmp_path, fault):
    keeper, (rows, labels) = Keeper(tmp_path, FAST), rows_and_labels(400)
    bad = [{"n": i} for i in range(FIRST)]  # an identifier, and nothing else
    if fault == "is not a number":
        keeper.do([learn(rows[:50], labels[:50])])
        bad = [*rows[50:150], {**rows[150], "u": "x"}]  # one that comes after those looked at
    before = keeper.as_bytes()
    for _ in range(2):
        (outcome,) = keeper.do([learn(bad, labels[: len(bad)])])
        assert fault in str(outcome.error)
        assert keeper.as_bytes() == before
    (outcome,) = keeper.do([learn(rows[150:], labels[150:])])
    assert outcome.error is None
    assert keeper.model.ready
    data = keeper.as_bytes()
    keeper.close()
    again = Keeper(tmp_path)  # as after SIGKILL
    assert again.as_bytes() == data
    again.close()


def test_a_file_with_more_classes_keeps_them_and_gets_no_more(tmp_path):
    rows, _ = rows_and_labels(130)
    labels = [f"class {i}" for i in range(130)]
    done(tmp_path / "many", [learn(rows, labels)], 1, Settings(effort="fast", max_classes=130))
    keeper = Keeper(tmp_path / "many")
    keeper.model.settings = Settings(effort="fast")
    known, new = keeper.do([learn(rows[:2], labels[-2:]), learn(rows[:1], ["another"])])
    assert known.error is None
    assert "'another'" in str(new.error)
    keeper.close()


def test_records_come_back_as_they_were():
    for operation in operations(n=60):
        assert from_record(operation.record()) == operation


def test_it_starts_from_nothing(tmp_path):
    keeper, (rows, labels) = Keeper(tmp_path, FAST), rows_and_labels(400)
    assert keeper.model.answer(ask(rows[:2], ["a", "b"]).content.batch).labels == [None, None]
    keeper.do([learn(rows[: FIRST - 1], labels[: FIRST - 1])])
    assert not keeper.model.ready
    most = max(set(labels[: FIRST - 1]), key=labels[: FIRST - 1].count)
    assert keeper.model.answer(ask(rows[:1], ["a"]).content.batch).labels == [most]
    keeper.do([learn(rows[FIRST - 1 :], labels[FIRST - 1 :])])
    model = keeper.model
    assert model.ready
    assert model.task == "classification"
    assert model.rounds == model.estimator.n_rounds_ == 400
    assert [c.kind for c in model.encoder.columns_] == ["number", "number", "category"]
    answers = model.answer(ask(rows[:50], [str(i) for i in range(50)]).content.batch)
    assert np.mean(np.array(answers.labels) == labels[:50]) > 0.8
    np.testing.assert_allclose(np.sum(answers.probabilities, axis=1), 1.0)
    keeper.close()


def test_one_class_alone_is_waited_out(tmp_path):
    keeper, (rows, _) = Keeper(tmp_path, FAST), rows_and_labels(300)
    keeper.do([learn(rows, ["yes"] * 300)])
    assert not keeper.model.ready
    keeper.do([learn(rows[:5], ["yes", "no", "no", "yes", "no"])])
    assert keeper.model.ready
    assert keeper.model.rounds == 305
    keeper.close()


def test_a_late_label_is_learned_as_if_it_came_now(tmp_path):
    rows, labels = rows_and_labels(400)
    one, other = Keeper(tmp_path / "one", FAST), Keeper(tmp_path / "other", FAST)
    one.do([learn(rows[:300], labels[:300]), ask(rows[300:301], ["late"])])
    one.do([learn(rows[301:], labels[301:]), feedback([("late", labels[300])])])
    other.do([learn(rows[:300] + rows[301:] + rows[300:301],
                    labels[:300] + labels[301:] + labels[300:301])])  # fmt: skip
    assert one.model.estimator.score_ahead(np.zeros((1, one.model.estimator.n_features_in_))) == (
        other.model.estimator.score_ahead(np.zeros((1, other.model.estimator.n_features_in_)))
    )
    assert one.applier.fates == {"learned": 1}
    one.close()
    other.close()


def test_a_refused_label_takes_nothing_away(tmp_path):
    keeper, (rows, labels) = Keeper(tmp_path, FAST), rows_and_labels(300)
    keeper.do([learn(rows, labels), ask(rows[:2], ["a", "b"])])
    (outcome,) = keeper.do([feedback([("a", "yes"), ("b", 3)])])
    assert "label 2 is 3" in str(outcome.error)
    assert (keeper.pending.n, keeper.model.rounds) == (2, 300)
    (outcome,) = keeper.do([feedback([("a", "yes"), ("b", "no")])])
    assert outcome.fates == {"a": "learned", "b": "learned"}
    keeper.close()


@pytest.mark.parametrize("group", [1, 4])
def test_a_row_that_cannot_be_learned_any_more_is_said(tmp_path, group):
    """It was asked about before the columns were known."""
    keeper, (rows, labels) = Keeper(tmp_path, FAST), rows_and_labels(300)
    keeper.do([ask([{"u": "text", "v": 1.0}, rows[0]], ["bad", "good"])])
    found = [learn(rows, labels), feedback([("bad", "no"), ("good", "no")]), learn(rows, labels)]
    outcomes = []
    for start in range(0, 3, group):
        outcomes += keeper.do(found[start : start + group])
    assert outcomes[1].fates == {"bad": "refused", "good": "learned"}
    assert keeper.applier.fates == {"refused": 1, "learned": 1}
    assert keeper.model.rounds == 601
    keeper.close()


def test_a_saved_model_is_a_beginning(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    model = OnlineKernelClassifier(effort="fast", random_state=0).partial_fit(X, y)
    path = tmp_path / "model.forks"
    model.save(path)
    keeper = Keeper(tmp_path / "kept", begin=path.read_bytes())
    row = [{"a": 2.0, "b": 0.0}, {"a": -2.0, "b": 0.0}]
    assert keeper.model.answer(ask(row, ["i", "j"]).content.batch).labels == [1, 0]
    (outcome,) = keeper.do([learn(row, [1, 0])])
    assert outcome.error is None
    assert keeper.model.rounds == 302
    assert from_bytes("it", keeper.as_bytes()).model.n_rounds_ == 302
    keeper.close()


def test_a_model_in_doubt_learns_no_more_and_a_new_start_has_all_of_the_journal(
    tmp_path, monkeypatch
):
    keeper = Keeper(tmp_path / "model", FAST)
    rows, labels = rows_and_labels(300)
    keeper.do([learn(rows[:200], labels[:200])])
    keeper.checkpoint()

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(keeper.pending, "ask", full)
    group = [learn(rows[200:250], labels[200:250]), ask(rows[:1], ["a"])]
    with pytest.raises(OSError, match=r"started again.*disk is full"):
        keeper.do(group)
    monkeypatch.undo()
    with pytest.raises(OSError, match="started again"):
        keeper.do([learn(rows[250:], labels[250:])])
    before = (tmp_path / "model" / "checkpoint.forks").read_bytes()
    keeper.checkpoint()
    assert (tmp_path / "model" / "checkpoint.forks").read_bytes() == before
    keeper.close()
    again, plain = Keeper(tmp_path / "model"), Keeper(tmp_path / "plain", FAST)
    plain.do([learn(rows[:200], labels[:200])])
    plain.do(group)
    assert again.as_bytes() == plain.as_bytes()
    assert again.pending.n == plain.pending.n == 1
    again.close()
    plain.close()
