"""The journal: what was appended is there, what was cut short is not, and damage is an error."""

import errno
import os
from types import SimpleNamespace

import pytest

from forks.serve.journal import Journal, JournalError

RECORDS = [b"one", b"", b"three" * 1000, b"\0\0\0"]


def replayed(folder, after=0):
    journal = Journal(folder, after)
    found = list(journal.replay())
    journal.close()
    return found


@pytest.fixture
def written(tmp_path):
    """A folder with a journal of four records."""
    journal = Journal(tmp_path)
    journal.append(RECORDS[:1])
    journal.append(RECORDS[1:])
    journal.close()
    return tmp_path


def segment(folder):
    (path,) = folder.glob("journal-*")
    return path


def test_records_come_back_with_their_numbers(written):
    assert replayed(written) == list(enumerate(RECORDS, 1))
    assert replayed(written, after=2) == list(enumerate(RECORDS, 1))[2:]


def test_a_record_that_was_cut_short_anywhere_is_not_there(written):
    whole = segment(written).read_bytes()
    short = len(whole) - 12 - len(RECORDS[-1])  # without the last record
    for n in range(short, len(whole)):
        segment(written).write_bytes(whole[:n])
        assert [record for _, record in replayed(written)] == RECORDS[:3]
        assert segment(written).stat().st_size == short
        segment(written).write_bytes(whole[:short] + bytes(n - short))  # zeros instead
        assert [record for _, record in replayed(written)] == RECORDS[:3]


def test_after_a_cut_records_are_appended_where_it_was(written):
    path = segment(written)
    path.write_bytes(path.read_bytes()[:-1])
    journal = Journal(written)
    journal.append([b"again"])
    journal.close()
    assert replayed(written) == list(enumerate([*RECORDS[:3], b"again"], 1))


def test_any_changed_byte_before_the_last_record_is_an_error(written):
    path = segment(written)
    whole = path.read_bytes()
    for at in [*range(0, 40), len(whole) // 2]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
        with pytest.raises(JournalError, match="damaged"):
            Journal(written)


def test_segments_are_cut_and_must_follow_each_other(tmp_path):
    journal = Journal(tmp_path)
    for record in RECORDS:
        journal.append([record])
    journal.cut(4)
    journal.append([b"five"])
    journal.close()
    assert replayed(tmp_path, after=4) == [(5, b"five")]
    assert replayed(tmp_path, after=5) == []
    with pytest.raises(JournalError, match="begins with record 5, but the checkpoint ends with 3"):
        Journal(tmp_path, after=3)


def test_a_cut_in_the_middle_keeps_the_segment(tmp_path):
    journal = Journal(tmp_path)
    journal.append(RECORDS)
    journal.cut(2)
    journal.close()
    assert [number for number, _ in replayed(tmp_path, after=2)] == [3, 4]


def test_a_kept_journal_has_everything(tmp_path):
    journal = Journal(tmp_path, keep=True)
    journal.append(RECORDS)
    journal.cut(4)
    journal.append([b"five"])
    journal.close()
    assert replayed(tmp_path) == list(enumerate([*RECORDS, b"five"], 1))


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.append([b"one"])
    write = os.write

    def half(descriptor, data):
        if len(data) > 20:
            return write(descriptor, data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        journal.append([b"two"])
    monkeypatch.undo()
    journal.append([b"three"])
    journal.close()
    assert replayed(tmp_path) == [(1, b"one"), (2, b"three")]


def test_a_disk_that_is_nearly_full_is_left_alone(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    nearly_full = SimpleNamespace(f_bavail=10 * 2**20, f_frsize=1)
    monkeypatch.setattr(os, "fstatvfs", lambda file: nearly_full)
    with pytest.raises(OSError, match="No space left"):
        journal.append([b"one"])
    monkeypatch.undo()
    journal.append([b"two"])
    journal.close()
    assert replayed(tmp_path) == [(1, b"two")]
