"""Saving: the name of a file stands for a whole one, whatever goes wrong."""

import errno
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import forks
from forks import OnlineKernelClassifier
from forks.estimators.saving import as_bytes
from forks.files import replacing, write_atomically
from forks.learners import RBP
from oracle_streams import made_up

X, Y = made_up(60, 5, 0)


def small_model(budget=5):
    return OnlineKernelClassifier(RBP(budget=budget), random_state=0).fit(X, Y)


def run_python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(call, tmp_path, monkeypatch):
    path = tmp_path / "model"
    small_model().save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "write":

        class Full:
            def __init__(self, descriptor, _):
                self.descriptor = descriptor

            def __enter__(self):
                return self

            def __exit__(self, *_):
                os.close(self.descriptor)

            write = staticmethod(fail)

        monkeypatch.setattr("builtins.open", Full)
    else:
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match=r"No space left on device.*model"):
        small_model(8).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


_LIMITED = """
import resource, signal, sys
from forks.files import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write_atomically(sys.argv[1], bytes(1_000_000))
except OSError as error:
    sys.exit(f"{error}")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits of file size")
def test_a_file_that_grows_too_large(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    result = run_python(_LIMITED, path)
    assert result.returncode == 1
    assert "cannot write: File too large" in result.stderr
    assert str(path) in result.stderr
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 256 kB; for root on Linux only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("cannot mount a small disk here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_file(small_disk):
    path = small_disk / "model"
    small_model().save(path)
    before = path.read_bytes()
    large = OnlineKernelClassifier(RBP(budget=20_000), random_state=0).fit(X, Y)
    with pytest.raises(OSError, match=r"No space left on device.*model") as caught:
        large.save(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert [file.name for file in small_disk.iterdir()] == ["model"]
    small_model(6).save(path)  # there is room again
    assert forks.load(path).learner_.budget == 6


_SAVES = """
import sys
from forks.files import write_atomically
data = open(sys.argv[2], "rb").read()
for _ in range(300):
    write_atomically(sys.argv[1], data)
"""


def test_two_processes_saving_to_one_path_never_leave_a_mixed_file(tmp_path):
    path = tmp_path / "model"
    parts = {}
    for budget in (5, 500):
        part = tmp_path / f"{budget}"
        part.write_bytes(as_bytes(small_model(budget)))
        parts[part.read_bytes()] = budget
        path.write_bytes(part.read_bytes())
    results = []
    writers = [
        threading.Thread(
            target=lambda budget=budget: results.append(
                run_python(_SAVES, path, tmp_path / f"{budget}")
            )
        )
        for budget in (5, 500)
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(parts[path.read_bytes()])  # no other bytes are ever there
        assert forks.load(path).learner_.budget in (5, 500)
    assert [result.returncode for result in results] == [0, 0], results
    assert seen == {5, 500}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["5", "500", "model"]


def test_links_stay_links_and_rights_are_the_users(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    plain = tmp_path / "plain"
    plain.touch()
    assert real.stat().st_mode == plain.stat().st_mode
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, b"new")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "model", b"new")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_is_not_a_regular_file_is_written_to_as_it_is(tmp_path):
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    for path in (fifo, link):
        got = []
        reader = threading.Thread(target=lambda got=got: got.append(fifo.read_bytes()))
        reader.start()
        write_atomically(path, b"new" * 100_000)
        reader.join()
        assert got == [b"new" * 100_000]
    assert fifo.is_fifo()
    assert link.is_symlink()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fifo", "link"]


def test_a_device_stays_a_device(tmp_path):
    null = tmp_path / "null"  # never the real one: a fault here would remove it
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.write_bytes(b"")
    except (AttributeError, OSError):
        pytest.skip("cannot make a device here")
    write_atomically(null, b"new")
    small_model().save(null)
    assert null.is_char_device()
    assert [file.name for file in tmp_path.iterdir()] == ["null"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_fault_while_writing_to_a_fifo_names_it(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def write():
        with replacing(fifo) as file:
            os.close(descriptor)
            file.write(b"new")

    with pytest.raises(OSError, match=r"cannot write: Broken pipe.*fifo"):
        write()
    assert fifo.is_fifo()


def test_saving_while_another_thread_learns_gives_a_whole_model(tmp_path):
    model = small_model()
    rows = np.tile(X, (50, 1))
    labels = np.tile(Y, 50)
    states = {as_bytes(model)}
    twin = small_model()
    for _ in range(5):
        states.add(as_bytes(twin.partial_fit(rows, labels)))
    learner = threading.Thread(target=lambda: [model.partial_fit(rows, labels) for _ in range(5)])
    learner.start()
    while learner.is_alive():
        model.save(tmp_path / "model")
        assert (tmp_path / "model").read_bytes() in states
