"""`forks run --predictions URL`: predictions as messages."""

import csv
import json

from brokers import made_up_rows
from test_run_streams import call

from killable import finished

FAST = ("--effort", "fast", "--no-progress", "--every", 100)


def expected(file, folder):
    """Return the predictions of the file, as CSV has them."""
    finished("run", file, *FAST, "--chunk", 100, "--predictions", folder / "predictions.csv")
    with open(folder / "predictions.csv") as lines:
        return list(csv.DictReader(lines))


def check(found, rows):
    """Check messages, by their ids, against lines of CSV."""
    assert len(found) == len(rows)
    for record, row in zip(found, rows, strict=True):
        assert record["prediction"] == row["prediction"]
        assert record["row"] == int(row["row"])
        assert record["score"] == float(row["score"])
        assert record["probabilities"]["yes"] == float(row["probability_yes"])
        assert (record["label"] or "") == row["label"]


def test_predictions_go_to_a_subject_with_the_place_of_the_row(nats_server, stream, tmp_path):
    rows = made_up_rows(220)
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows))
    nats_server.make(stream, ["\n".join(rows[i : i + 2]) for i in range(0, 220, 2)])
    nats_server.make(f"{stream}_out")
    arguments = ("run", nats_server.url(stream), "--until-end", *FAST)
    told = ("--predictions", nats_server.url(f"{stream}_out.it"))
    finished(*arguments, *told)
    messages = nats_server.read(f"{stream}_out")
    found = [json.loads(data) for _, data in messages]
    assert [record["id"] for record in found] == [
        f"{stream}-0-{i // 2 + 1}-{i % 2}" for i in range(220)
    ]
    assert [headers["Nats-Msg-Id"] for headers, _ in messages] == [one["id"] for one in found]
    check(found, expected(file, tmp_path))
    finished(*arguments, *told)  # the stream knows the ids
    assert len(nats_server.read(f"{stream}_out")) == 220


def test_predictions_go_to_a_topic(kafka_cluster, stream, tmp_path):
    rows = made_up_rows(220)
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows))
    url = kafka_cluster.url(stream)
    finished("run", file, "--chunk", 100, *FAST, "--predictions", url)
    messages = [(key, json.loads(data)) for key, data in kafka_cluster.read(stream)]
    found = sorted(messages, key=lambda one: one[1]["row"])
    assert [key for key, _ in found] == [str(row + 1) for row in range(220)]
    check([record for _, record in found], expected(file, tmp_path))


def test_predictions_of_classes_that_come_late_and_of_numbers(kafka_cluster, stream, tmp_path):
    labels = ["a"] * 130 + ["b"] * 30 + ["c"] * 30
    rows = [json.dumps({"x": i % 7, "y": label}) for i, label in enumerate(labels)]
    file = tmp_path / "classes.jsonl"
    file.write_text("\n".join(rows))
    finished("run", file, "--chunk", 100, *FAST, "--predictions", kafka_cluster.url(stream))
    found = {key: json.loads(data) for key, data in kafka_cluster.read(stream)}
    assert len(found) == 190
    assert set(found["1"]["probabilities"]) == {"a"}
    assert set(found["190"]["probabilities"]) == {"a", "b", "c"}
    assert abs(sum(found["190"]["probabilities"].values()) - 1.0) < 1e-9
    numbers = tmp_path / "numbers.jsonl"
    numbers.write_text("\n".join(json.dumps({"x": i % 7, "y": i % 7 + 0.5}) for i in range(120)))
    url = kafka_cluster.url(f"{stream}_numbers")
    finished("run", numbers, *FAST, "--task", "regression", "--predictions", url)
    (last,) = [json.loads(v) for k, v in kafka_cluster.read(f"{stream}_numbers") if k == "120"]
    assert set(last) == {"id", "row", "prediction", "label"}
    assert isinstance(last["prediction"], float)


def test_where_predictions_cannot_go_is_said_before_anything_is_learned(
    nats_server, tmp_path, monkeypatch
):
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(made_up_rows(120)))
    monkeypatch.setattr("forks.streams.sources.publishing._CONNECT", 0.5)
    for url, said in {
        nats_server.url("nobody"): "no stream takes the subject",
        "kafka://127.0.0.1:1/topic": "there is no Kafka broker",
    }.items():
        result = call("run", file, *FAST, "--predictions", url, "--save", tmp_path / "model")
        assert result.exit_code == 1
        assert f"{url}: {said}" in result.output
        assert not (tmp_path / "model").exists()
