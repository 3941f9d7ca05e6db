"""Processes to be killed: forks of one that has everything loaded, so that they start at once."""

import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from unittest import mock

from brokers import Kafka
from typer.testing import CliRunner

from forks.cli import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["killable", "warmed"])


def _start_server():
    """Start the process that others are forks of; before Python 3.12 it needs to be told a path."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path)}):
        forkserver.ensure_running()


def forks_process(*arguments):
    """Start `forks` with these arguments, in a process of its own."""
    _start_server()
    process = _CONTEXT.Process(target=_run, args=([str(one) for one in arguments],), daemon=True)
    process.start()
    return process


def _run(arguments):
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(arguments)


def mock_cluster(topic, n):
    """Start a Kafka mock cluster in a process of its own, with n messages; return its address."""
    _start_server()
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_cluster, args=(there, topic, n), daemon=True)
    process.start()
    assert here.poll(60.0)
    return process, here.recv()


def _cluster(there, topic, n):
    cluster = Kafka()
    cluster.publish(topic, [str(i) for i in range(n)])
    there.send(cluster.host)
    signal.pause()


def kill(process):
    """Kill a process; return whether it was still running."""
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def finished(*arguments):
    """Run `forks` in this process; return what it printed."""
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.output
