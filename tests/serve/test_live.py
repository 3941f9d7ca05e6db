"""What the page is fed with: glances, the points that are kept, and the stream."""

import asyncio
import json
import threading
import time

import msgspec
import numpy as np
import pytest
from litestar.testing import TestClient
from made_up import learn, rows_and_labels

from forks.serve import insight
from forks.serve import live as live_module
from forks.serve.app import application
from forks.serve.context import Context
from forks.serve.glances import KEPT, Glances, Relevance, Track
from forks.serve.live import Live
from forks.serve.service import Service
from forks.serve.table_model import Settings

ROWS, LABELS = rows_and_labels(700)


@pytest.fixture
def service(tmp_path):
    made = Service(tmp_path, Settings(effort="fast"))
    made.add("one")
    made.add("two", settings=Settings(effort="fast", task="regression"))
    yield made
    if made.workers:
        made.close()


@pytest.fixture
def context(service):
    return Context(service)


def teach(service, name, start, stop, labels=LABELS):
    service.workers[name].keeper.do([learn(ROWS[start:stop], labels[start:stop])])


def read(data):
    return json.loads(data)


# ---- glances ---------------------------------------------------------------------------------


def test_a_glance_has_the_figures_of_the_model(service, context):
    teach(service, "one", 0, 300)
    taken = Glances(context)
    taken.take()
    told = read(taken.state("one"))
    figures = service.info("one")["figures"]
    assert told["model"]["now"] == pytest.approx(1.0 - figures["recent_accuracy"])
    assert told["model"]["all"] == pytest.approx(1.0 - figures["accuracy"])
    assert told["model"]["last_label_now"] == figures["recent_last_label_mistake_rate"]
    assert told["model"]["last_label_all"] == figures["last_label_mistake_rate"]
    assert told["model"]["rows"] == 300
    assert told["model"]["classes"] == ["no", "yes"]
    assert [each["name"] for each in told["models"]] == ["one", "two"]
    assert told["memory"] > 50e6


def test_a_glance_at_a_regression_has_its_error(service, context):
    numbers = np.random.default_rng(0).normal(size=len(ROWS)).tolist()
    teach(service, "two", 0, 300, numbers)
    taken = Glances(context)
    taken.take()
    model, figures = read(taken.state("two"))["model"], service.info("two")["figures"]
    assert model["now"] == figures["recent_root_mean_squared_error"]
    assert model["all"] == figures["root_mean_squared_error"]
    assert model["last_label_all"] == figures["last_value_root_mean_squared_error"]


def test_a_model_that_is_not_there_is_the_first(context):
    taken = Glances(context)
    taken.take()
    assert read(taken.state("nobody"))["model"]["name"] == "one"
    assert read(taken.state(None))["model"]["name"] == "one"
    assert read(taken.history("two", 0.0))["model"] == "two"


def test_a_service_without_models_or_glances(tmp_path):
    service = Service(tmp_path)
    taken = Glances(Context(service))
    assert read(taken.state(None))["model"] is None
    taken.take()
    assert read(taken.state(None))["models"] == []
    assert len(read(taken.history(None, 0.0))["service"]) == 1
    service.close()


def test_rates_are_those_since_the_last_glance(service, context):
    taken = Glances(context)
    taken.take(100.0)
    teach(service, "one", 0, 300)
    for seconds in (0.1, 0.2, 0.3, 0.4):
        context.metrics.count("learn", 200, seconds)
    taken.take(102.0)
    told = read(taken.state("one"))
    assert told["model"]["rows_per_second"] == 150.0
    assert told["requests_per_second"] == 2.0
    assert (told["p50"], told["p99"]) == (0.2, 0.3)
    taken.take(104.0)
    told = read(taken.state("one"))
    assert told["model"]["rows_per_second"] == told["requests_per_second"] == 0.0
    assert told["p50"] == 0.2  # the latency is that of ten seconds


def test_no_requests_have_no_latency(context):
    taken = Glances(context)
    context.metrics.count("learn", 200, 0.5)  # before the first glance
    taken.take()
    assert read(taken.state(None))["p50"] is None


def test_points_are_bounded_and_told_since_a_moment():
    track = Track()
    for time_ in range(KEPT + 50):
        track.add(float(time_), {"x": time_})
    assert len(track.points) == KEPT
    told = read(msgspec.json.encode(track.since(KEPT + 47.0)))
    assert [point["x"] for point in told] == [KEPT + 48, KEPT + 49]
    assert len(track.since(0.0)) == KEPT


def test_the_history_has_points_and_events_of_the_model_asked_for(service, context):
    taken = Glances(context)
    taken.take()
    teach(service, "one", 0, 200)
    taken.take()
    told = read(taken.history("one", 0.0))
    assert [point["rows"] for point in told["points"]] == [0, 200]
    assert told["events"] == service.events("one")
    assert len(told["service"]) == 2
    assert read(taken.history("one", told["points"][0]["time"]))["points"] == told["points"][1:]


# ---- relevance -------------------------------------------------------------------------------


def test_the_relevance_is_found_out_only_if_rows_were_learned(service, context, monkeypatch):
    looks = []

    def look(keeper):
        looks.append(keeper.model.rounds)
        return {"a": 0.75, "b": 0.25}

    monkeypatch.setattr(insight, "relevance", look)
    taken = Glances(context)
    taken.find_relevance("one")
    taken.find_relevance("one")
    assert looks == [0]
    teach(service, "one", 0, 200)
    taken.find_relevance("one")
    taken.find_relevance("gone")
    assert looks == [0, 200]
    taken.take()
    taken.take()
    first, second = read(taken.history("one", 0.0))["points"]
    assert first["relevance"] == {"a": 0.75, "b": 0.25}
    assert "relevance" not in second  # it is told once
    assert read(taken.state("one"))["model"]["relevance"] == {"a": 0.75, "b": 0.25}


def test_features_that_have_mattered_are_told_further():
    first = Relevance(0, {}, {}).then(10, {f"x{j:02}": 1.0 / 20 for j in range(20)})
    assert list(first.values) == [f"x{j:02}" for j in range(12)]
    again = first.then(20, {**{f"x{j:02}": 0.0 for j in range(19)}, "x19": 1.0})
    assert again.rows == 20
    assert again.values["x19"] == 1.0
    assert again.values["x00"] == 0.0  # though others matter as much now
    assert len(again.values) == 12


def test_nobody_waits_for_the_relevance(tmp_path, monkeypatch):
    service = Service(tmp_path)
    service.add("one")
    teach(service, "one", 0, 700)
    keeper = service.workers["one"].keeper
    assert set(service.relevance("one")) >= {"u", "v"}
    busy, go_on = threading.Event(), threading.Event()
    inner = insight.relevance_of

    def slow(engine):
        assert engine is not keeper.model.estimator.engine_
        busy.set()
        assert go_on.wait(30.0)
        return inner(engine)

    monkeypatch.setattr(insight, "relevance_of", slow)
    found = []
    thread = threading.Thread(target=lambda: found.append(service.relevance("one")))
    thread.start()
    assert busy.wait(30.0)
    teach(service, "one", 0, 100)  # learning goes on, and so do answers
    with keeper.turns.reading():
        assert keeper.model.rounds == 800
    go_on.set()
    thread.join()
    assert sum(found[0].values()) == pytest.approx(1.0)
    weights = insight.expert_weights(keeper)
    assert len(weights) == 10
    assert sum(weights) == pytest.approx(1.0)
    assert all("name" in event["shift"] for event in service.events("one") if "shift" in event)
    service.close()


def test_a_single_learner_has_no_weights_and_no_relevance(service):
    teach(service, "one", 0, 200)
    keeper = service.workers["one"].keeper
    assert insight.expert_weights(keeper) == insight.events(keeper) == []
    assert insight.relevance(keeper) == {}


# ---- the stream ------------------------------------------------------------------------------


def test_the_stream_begins_with_what_was_and_goes_on(context, monkeypatch):
    monkeypatch.setattr(live_module, "_SECONDS", 0.01)

    async def follow():
        live = Live(context)
        await live.start()
        told = []
        async for message in live.messages("two", 0.0, once=False):
            told.append((message.event, json.loads(message.data)))
            if len(told) == 4:
                context.ending = True  # as the server does at SIGTERM
        assert live.open == 0
        await live.stop()
        return told

    told = asyncio.run(follow())
    assert [event for event, _ in told] == ["history", "state", "state", "state"]
    times = [data["time"] for _, data in told[1:]]
    assert times == sorted(set(times))
    assert {data["model"]["name"] for _, data in told[1:]} == {"two"}


def test_a_glance_that_fails_ends_nothing(context, monkeypatch):
    monkeypatch.setattr(live_module, "_SECONDS", 0.01)

    async def follow():
        live = Live(context)
        await live.start()
        take, failed = live.glances.take, []

        def failing():
            failed.append(1)
            if len(failed) < 3:
                raise OSError("no")
            take()

        monkeypatch.setattr(live.glances, "take", failing)
        before = live.glances.latest["time"]
        end = time.monotonic() + 20.0
        while live.glances.latest["time"] == before and time.monotonic() < end:
            await asyncio.sleep(0.01)
        await live.stop()
        return len(failed)

    assert asyncio.run(follow()) >= 3


def test_once_tells_what_is_so_now(service, context):
    with TestClient(application(context)) as client:
        for n in (150, 300):
            teach(service, "one", n - 150, n)
            told = client.get("/v1/live?once=true").text
            assert told.count("event:") == 1
            assert f'"rows":{n}' in told


def test_so_many_may_follow_and_the_question_is_checked(context, monkeypatch):
    with TestClient(application(context)) as client:
        assert client.get("/v1/live?once=true&model=two").status_code == 200
        refused = client.get("/v1/live?since=yesterday")
        assert refused.status_code == 400
        assert refused.json()["field"] == "since"
        monkeypatch.setattr(live_module, "_STREAMS", 0)
        refused = client.get("/v1/live?once=true")
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "10"


def test_the_files_of_the_page_are_sent_with_a_strict_policy(context):
    with TestClient(application(context)) as client:
        page = client.get("/")
        linked = [part.split('"')[0] for part in page.text.split('="page/')[1:]]
        assert len(linked) == 5
        for name in [*linked, "charts.js", "feed.js", "parts.js", "track.js", "words.js"]:
            answer = client.get(f"/page/{name}")
            assert answer.status_code == 200, name
            assert answer.headers["x-content-type-options"] == "nosniff"
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
            assert "unsafe" not in policy
        assert "http" not in page.text
        assert client.get("/page/__init__.py").status_code == 404
