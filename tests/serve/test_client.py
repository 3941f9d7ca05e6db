"""The command `forks serve`, and its clients, over a real connection."""

import json
import signal
import subprocess
import sys

import pytest
from kills import free_port, started
from made_up import rows_and_labels
from typer.testing import CliRunner

from forks.cli import main
from forks.serve.client import Client, ServiceError

ROWS, LABELS = rows_and_labels(300)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    port = free_port()
    process, _ = started(tmp_path_factory.mktemp("state"), port)
    yield f"http://127.0.0.1:{port}", process
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) in (0, -signal.SIGTERM)


def forks_client(url, *options, lines=()):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return CliRunner().invoke(main, ["client", *options, "--url", url], input=text)


def test_python_and_shell(served):
    url, _ = served
    client = Client(url)
    assert client.learn(ROWS[:250], LABELS[:250])["learned"] == 250
    told = client.predict(ROWS[250:253], ids=["a", "b", "c"])
    assert len(told["probabilities"]) == 3
    assert client.feedback({"a": LABELS[250], "z": "no"}) == {"a": "learned", "z": "unknown"}
    assert client.predict_then_learn(ROWS[251:253], LABELS[251:253])["rows"] == 253
    assert client.info()["waiting_labels"] == 2
    assert client.relevance() == {}  # of a single machine
    assert client.events() == []
    lines = [{**row, "label": label} for row, label in zip(ROWS[253:], LABELS[253:], strict=True)]
    learned = forks_client(url, "learn", "--batch", "20", lines=lines)
    assert [json.loads(line)["learned"] for line in learned.stdout.splitlines()] == [20, 20, 7]
    answers = forks_client(url, "predict", "--id", "key", lines=[{**ROWS[0], "key": "k"}])
    assert json.loads(answers.stdout)["id"] == "k"
    fates = forks_client(url, "feedback", "--id", "id", lines=[{"id": "k", "label": "no"}])
    assert json.loads(fates.stdout) == {"k": "learned"}
    assert json.loads(forks_client(url, "info").stdout)["rows"] == 301


def test_what_is_refused_is_said(served):
    url, _ = served
    with pytest.raises(ServiceError, match="404: there is no model 'other'") as error:
        Client(url, model="other").info()
    assert error.value.status == 404
    with pytest.raises(ServiceError, match=r"'x' is not a number \(field 'u', row 0\)"):
        Client(url).learn([{"u": "x"}], ["no"])
    command = [sys.executable, "-m", "forks.cli", "client", "learn", "--url", url]
    told = subprocess.run(
        command, input='["no row"]\n', capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert told.stderr == "Error: standard input, line 1: must be a JSON object\n"


@pytest.mark.parametrize(
    ("options", "line", "told"),
    [
        (["learn"], {"u": 1.0}, "line 1: there is no field 'label' (see --label)"),
        (["predict", "--id", "key"], {"u": 1.0}, "line 1: there is no field 'key' (see --id)"),
        (["feedback", "--id", "u"], {"u": 1}, "line 1: there is no field 'label' (see --label)"),
        (["info"], {}, "no answer from http://127.0.0.1:9: Connection refused"),
    ],
)
def test_the_shell_is_told_what_is_wrong(options, line, told):
    command = [sys.executable, "-m", "forks.cli", "client", *options, "--url", "http://127.0.0.1:9"]
    found = subprocess.run(
        command, input=json.dumps(line) + "\n", capture_output=True, text=True, check=False
    )
    assert found.returncode != 0
    assert found.stderr in (f"Error: {told}\n", f"Error: standard input, {told}\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "--tokens says who may do what"),
        (["nothing.forks"], "there is no such model file"),
        (["--tokens", "nothing"], "No such file"),
    ],
)
def test_wrong_options(tmp_path, options, words):
    told = CliRunner().invoke(main, ["serve", "--state", str(tmp_path / "s"), *options])
    assert told.exit_code == 2
    assert words in told.stderr
    assert isinstance(told.exception, SystemExit)


def test_a_new_token_is_printed_with_its_line():
    told = CliRunner().invoke(main, ["serve", "--new-token", "learn"])
    assert told.exit_code == 0
    token, line = (text.split(": ")[1].strip() for text in told.stdout.splitlines())
    assert line.startswith("learn ")
    assert token not in line
