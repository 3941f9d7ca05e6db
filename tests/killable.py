"""Processes to be killed: forks of one that has everything loaded, so that they start at once."""

import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from unittest import mock

from typer.testing import CliRunner

from forks.cli import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["killable", "warmed"])


def started(target, *arguments):
    """Start a process that calls a function of a module of the tests."""
    # before Python 3.12 the process that others are forks of needs to be told a path
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path)}):
        forkserver.ensure_running()
    process = _CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def forks_process(*arguments):
    """Start `forks` with these arguments, in a process of its own."""
    return started(_run, [str(one) for one in arguments])


def _run(arguments):
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(arguments)


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
