"""Records of keys in memory and on disk."""

import copy
import os
import pickle

import numpy as np
import pytest

from forks.keyed.table import KeyTable


def names(numbers):
    return [f"k{number}" for number in numbers]


def test_records_are_those_of_a_dictionary_whatever_is_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    table, expected = KeyTable(5, max_keys=8, folder=tmp_path), {}
    for _ in range(300):
        numbers = rng.integers(0, 40, rng.integers(1, 9))
        slots = table.slots_for(table.add(names(numbers)))
        for number, slot in zip(numbers.tolist(), slots, strict=True):
            known = expected.setdefault(number, np.zeros(5))
            np.testing.assert_array_equal(table.records[slot], known)
            table.records[slot] += rng.normal(size=5)
            expected[number] = table.records[slot].copy()
    assert len(table) == len(expected) == 40
    assert len(table.records) == 8
    assert table.in_memory <= 8
    order = [int(name[1:]) for name in table.numbers]
    together = np.concatenate(list(table.blocks()))
    np.testing.assert_array_equal(together, [expected[number] for number in order])


def test_the_least_recently_used_leave(tmp_path):
    table = KeyTable(1, max_keys=8, folder=tmp_path)
    for number in range(8):
        table.slots_for(table.add(names([number])))
    table.slots_for(table.add(names([0])))  # 1 is the oldest now
    table.slots_for(table.add(names([8])))
    on_disk = [name for name, number in table.numbers.items() if table._slot[number] < 0]
    assert on_disk == ["k1"]


def test_more_keys_at_once_than_there_is_room_for():
    table = KeyTable(1, max_keys=2)
    numbers = table.add(names(range(3)))
    with pytest.raises(ValueError, match="max_keys is 2"):
        table.slots_for(numbers)


def test_reading_moves_nothing(tmp_path):
    table = KeyTable(2, max_keys=4, folder=tmp_path)
    for number in range(10):
        slot = table.slots_for(table.add(names([number])))
        table.records[slot] = number
    before = table._slot.copy()
    copies = table.copies(np.array([3, 9, -1, 3]))
    np.testing.assert_array_equal(copies[:, 0], [3.0, 9.0, 0.0, 3.0])
    np.testing.assert_array_equal(table._slot, before)
    copies[:] = 7.0
    assert table.copies(np.array([9]))[0, 0] == 9.0


class FullFile:
    """A file on a disk without room."""

    def seek(self, place):
        pass

    def write(self, record):
        return 5


def test_a_full_disk_loses_nothing(tmp_path):
    table = KeyTable(2, max_keys=4, folder=tmp_path)
    for number in range(6):
        slot = table.slots_for(table.add(names([number])))
        table.records[slot] = number
    real, table._store._file = table._store._file, FullFile()
    more = table.add(names(range(6, 10)))
    with pytest.raises(OSError, match="the disk is full"):
        table.slots_for(more)
    table._store._file = real
    np.testing.assert_array_equal(table.copies(np.arange(6))[:, 0], np.arange(6.0))


@pytest.mark.skipif(os.name == "nt", reason="open files keep their names on Windows")
def test_the_store_has_no_name(tmp_path):
    table = KeyTable(2, max_keys=1, folder=tmp_path)
    for number in range(3):
        slot = table.slots_for(table.add(names([number])))
        table.records[slot] = number
    assert os.listdir(tmp_path) == []
    np.testing.assert_array_equal(table.copies(np.arange(3))[:, 1], [0.0, 1.0, 2.0])
    table.close()


def test_a_copy_has_all_records(tmp_path):
    table = KeyTable(2, max_keys=4, folder=tmp_path)
    for number in range(10):
        slot = table.slots_for(table.add(names([number])))
        table.records[slot] = number
    for again in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert again.numbers == table.numbers
        assert again.in_memory <= 4
        np.testing.assert_array_equal(again.copies(np.arange(10)), table.copies(np.arange(10)))
