"""Records: what a run leaves, and the file of them."""

import json
import lzma

import pytest

from forks.experiments.record import Missing, RecordFile, done_keys, grouped, key_of, played


def record(**fields):
    """A record, as far as every one has it."""
    return {"key": "", "experiment": "", "status": "done", **fields}


def test_a_run_leaves_a_record():
    made = played({"experiment": "x", "n": 3}, lambda: {"mistakes": 5})
    assert list(made)[:5] == ["key", "experiment", "n", "status", "mistakes"]
    assert (made["status"], made["mistakes"]) == ("done", 5)
    assert {"forks", "numpy", "numba", "python", "cpu", "cores", "machine"} <= set(made)
    assert made["key"] == key_of({"n": 3, "experiment": "x"}) != key_of({"n": 4})
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ZeroDivisionError("nothing left\nto divide"), "ZeroDivisionError: nothing left"),
        (KeyError(), "KeyError"),
        (Missing("no such thing here"), "no such thing here"),
    ],
)
def test_a_failing_run_is_a_record_with_a_reason(error, reason):
    def play():
        raise error

    made = played({"experiment": "x"}, play)
    assert (made["status"], made["reason"]) == ("failed", reason)


def test_only_success_counts_as_done():
    records = [record(key="a"), record(key="b", status="failed")]
    assert done_keys(records) == {"a"}


def test_groups_keep_their_order():
    assert grouped([3, 1, 4, 1, 5], lambda n: n % 2) == {1: [3, 1, 1, 5], 0: [4]}


def test_records_are_read_as_they_were_appended(tmp_path):
    file = RecordFile(tmp_path / "new" / "records.jsonl")
    assert file.read() == []
    for one in (record(a=1), record(b="ö\n")):
        file.append(one)
    assert file.read() == [record(a=1), record(b="ö\n")]


def test_a_line_that_a_crash_has_cut_off_is_dropped(tmp_path):
    file = RecordFile(tmp_path / "records.jsonl")
    file.append(record(a=1))
    with file.path.open("ab") as out:
        out.write(b'{"a": 2, "b')
    assert file.read() == [record(a=1)]
    file.drop_cut_off_line()
    file.append(record(a=3))
    assert file.read() == [record(a=1), record(a=3)]


@pytest.mark.parametrize("line", ["{", "[1]", "nonsense", '{"key": "a"}'])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_text(f"{json.dumps(record(a=1))}\n{line}\n{json.dumps(record(a=2))}\n")
    with pytest.raises(ValueError, match=r"records.jsonl, line 2: not a record"):
        RecordFile(path).read()


def test_compressed_records_are_read_and_left_alone(tmp_path):
    path = tmp_path / "records.jsonl.xz"
    path.write_bytes(lzma.compress(json.dumps(record(a=1)).encode() + b"\n"))
    assert RecordFile(path).read() == [record(a=1)]
    with pytest.raises(ValueError, match=r"records.jsonl.xz is compressed"):
        RecordFile(path).append(record(a=2))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"records.jsonl.xz is not an xz file, or is damaged"):
        RecordFile(path).read()
