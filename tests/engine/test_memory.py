"""A learner's state as two flat arrays, and the views of it."""

import importlib
import pickle
import pkgutil
from typing import NamedTuple

import numpy as np
import pytest

import forks
from compiled import njit
from forks.engine import Counter, Cube, Matrix, Memory, Vector, allocate, viewer
from forks.engine.memory import compiled_viewer


class MemoryTestLeaf(NamedTuple):
    a: Vector
    marks: Counter


class MemoryTestPart(NamedTuple):
    counts: Counter
    leaf: MemoryTestLeaf
    b: Matrix


class MemoryTestWhole(NamedTuple):
    part: MemoryTestPart
    c: Cube
    empty: Matrix
    again: MemoryTestLeaf
    last: Counter


SHAPES = {
    "part.counts": (3,),
    "part.leaf.a": (5,),
    "part.leaf.marks": (2,),
    "part.b": (3, 7),
    "c": (2, 3, 4),
    "empty": (0, 4),
    "again.a": (1,),
    "again.marks": (4,),
    "last": (2,),
}

view = viewer(MemoryTestWhole)
compiled_view = njit(compiled_viewer(MemoryTestWhole))
compiled_view_of_part = njit(compiled_viewer(MemoryTestPart))


@njit
def number_all(floats, ints):
    """Write 1, 2, 3, ... into every array, in the order of the fields."""
    whole = compiled_view(0, floats, ints)
    next_number = number_part(whole.part, 1)
    next_number = number(whole.c, next_number)
    next_number = number(whole.empty, next_number)
    next_number = number(whole.again.a, next_number)
    next_number = number(whole.again.marks, next_number)
    return number(whole.last, next_number)


@njit
def number_first(floats, ints):
    """The same for the first field of the whole, seen as if nothing else were there."""
    return number_part(compiled_view_of_part(0, floats, ints), 1)


@njit
def number_part(part, next_number):
    next_number = number(part.counts, next_number)
    next_number = number(part.leaf.a, next_number)
    next_number = number(part.leaf.marks, next_number)
    return number(part.b, next_number)


@njit
def number(array, next_number):
    flat = array.reshape(array.size)
    for i in range(flat.shape[0]):
        flat[i] = next_number + i
    return next_number + flat.shape[0]


def leaves(state):
    for field in state:
        if isinstance(field, tuple):
            yield from leaves(field)
        else:
            yield field


def new():
    return allocate(MemoryTestWhole, SHAPES)


def test_shapes_and_types():
    whole = view(new())
    assert isinstance(whole, MemoryTestWhole)
    assert isinstance(whole.part.leaf, MemoryTestLeaf)
    assert [array.shape for array in leaves(whole)] == list(SHAPES.values())
    for name, array in zip(SHAPES, leaves(whole), strict=True):
        integers = name.split(".")[-1] in ("counts", "marks", "last")
        assert array.dtype == (np.int64 if integers else np.float64)
        assert (array == 0).all()


def test_views_share_the_memory_and_do_not_overlap():
    memory = new()
    for i, array in enumerate(leaves(view(memory))):
        array[...] = i + 1
    for i, array in enumerate(leaves(view(memory))):
        assert (array == i + 1).all()


def test_compiled_and_python_views_agree():
    memory = new()
    end = number_all(*memory)
    written = np.concatenate([array.ravel() for array in leaves(view(memory))])
    np.testing.assert_array_equal(written, np.arange(1, end))
    assert end - 1 == sum(int(np.prod(shape)) for shape in SHAPES.values())


def test_the_first_field_can_be_seen_alone():
    memory = new()
    end = number_first(*memory)
    whole = view(memory)
    written = np.concatenate([array.ravel() for array in leaves(whole.part)])
    np.testing.assert_array_equal(written, np.arange(1, end))
    for array in (whole.c, whole.again.a, whole.again.marks, whole.last):
        assert (array == 0).all()


def test_arrays_start_on_whole_lines():
    memory = new()
    for array in leaves(view(memory)):
        if array.dtype == np.float64 and array.size:
            offset = array.ctypes.data - memory.floats.ctypes.data
            assert offset % 64 == 0


@pytest.mark.parametrize(
    "change",
    [
        {"part.b": (3,)},
        {"part.b": (3, 7, 1)},
        {"c": (2, 3)},
        {"part.counts": ()},
        {"unknown": (3,)},
        {"part.leaf": (3,)},
    ],
    ids=repr,
)
def test_wrong_shapes_are_refused(change):
    with pytest.raises(TypeError, match="MemoryTestWhole"):
        allocate(MemoryTestWhole, SHAPES | change)


def test_missing_shapes_are_refused():
    for name in SHAPES:
        with pytest.raises(TypeError, match="MemoryTestWhole"):
            allocate(MemoryTestWhole, {key: SHAPES[key] for key in SHAPES if key != name})


def test_a_copy_is_independent():
    memory = new()
    number_all(*memory)
    copy = memory.copy()
    assert isinstance(copy, Memory)
    before = [array.copy() for array in leaves(view(memory))]
    for array in leaves(view(copy)):
        array[...] = -1
    for array, expected in zip(leaves(view(memory)), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_the_memory_starts_at_a_line_of_the_cache():
    assert {new().floats.ctypes.data % 64 for _ in range(20)} == {0}


def test_pickle_and_size():
    memory = new()
    number_all(*memory)
    again = pickle.loads(pickle.dumps(memory))
    for array, expected in zip(leaves(view(again)), leaves(view(memory)), strict=True):
        np.testing.assert_array_equal(array, expected)
    assert memory.nbytes == memory.floats.nbytes + memory.ints.nbytes
    used = sum(array.nbytes for array in leaves(view(memory)))
    assert used <= memory.nbytes <= used + 9 * (64 + 32)


def test_named_tuples_of_the_package_have_unique_names():
    """Compiled code tells NamedTuple classes apart by name and fields only."""
    found = {}
    for info in pkgutil.walk_packages(forks.__path__, "forks."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:  # something optional is not installed here
            if error.name is None or error.name.split(".")[0] == "forks":
                raise
            continue
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, tuple) and hasattr(item, "_fields"):
                found.setdefault(item.__name__, set()).add(item)
    assert {"Gaussian", "Hinge", "KOGDRule", "KOGDState", "Points", "SparseRow"} <= set(found)
    shared = {name: classes for name, classes in found.items() if len(classes) > 1}
    assert not shared
