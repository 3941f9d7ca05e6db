"""Declared axes: the shapes, the scratch and the growth that follow from them."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from compiled import njit
from forks.engine import Counter, Cube, Growth, Learner, Matrix, Points, Vector, shapes_of
from forks.engine.axes import arrays_of, lengths_of
from forks.engine.memory import scratch_for, viewer
from forks.kernels import Gaussian, Kernel
from forks.losses import Hinge, Loss


class AxesTestPart(NamedTuple):
    a: Annotated[Vector, "n + 1"]
    b: Annotated[Matrix, "outputs", "padded(n)"]


class AxesTestState(NamedTuple):
    counts: Annotated[Counter, 3]
    points: Annotated[Points, "capacity = room + 1"]
    part: Annotated[AxesTestPart, "n = 2 * room"]
    again: Annotated[AxesTestPart, "n = 1"]
    grid: Annotated[Cube, "outputs", "room", "rank * room"]


class AxesTestWork(NamedTuple):
    row: Annotated[Vector, "odd_blocks(1 + room - 0)"]
    block: Annotated[Vector, 8]


class AxesTestScratch(NamedTuple):
    row: Annotated[Vector, "odd_blocks((room) + 1)"]
    block: Annotated[Vector, 8]
    grid: Annotated[Matrix, "room", "2 * room + 1"]
    outputs: Annotated[Vector, "outputs"]


class AxesTestRule(NamedTuple):
    kernel: Kernel
    loss: Loss
    budget: int
    eta: float
    doubled: float
    constant: float = 0.5


@dataclass(frozen=True, kw_only=True)
class AxesTestLearner(Learner):
    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 3
    eta: float = 0.2
    rank: int = 2

    multi_output = True
    state_class = AxesTestState
    work_class = AxesTestScratch
    rule_class = AxesTestRule

    def derived(self):
        return {"doubled": 2 * self.eta}

    def growing(self):
        return {"room": Growth(4, 10)}

    def limits(self, view):
        return []

    def stored_points(self, memory):
        return 0


LENGTHS = {"features": 5, "outputs": 2, "room": 4, "rank": 3}
SHAPES = {
    "counts": (3,),
    "points.columns": (5, 8),
    "points.norms": (2, 8),
    "part.a": (9,),
    "part.b": (2, 8),
    "again.a": (2,),
    "again.b": (2, 8),
    "grid": (2, 4, 12),
}


def new(learner=AxesTestLearner(), n_features=5, n_outputs=2):  # noqa: B008
    return learner.init(n_features, n_outputs, np.random.default_rng(0))


def filled(learner, **sizes):
    memory = new(learner, **sizes)
    memory.floats[:] = np.arange(1.0, len(memory.floats) + 1)
    return memory


def leaves(view):
    for field in view:
        if isinstance(field, tuple):
            yield from leaves(field)
        else:
            yield field


def test_shapes_follow_from_lengths():
    assert shapes_of(AxesTestState, LENGTHS) == SHAPES
    assert shapes_of(AxesTestState, {name: np.int64(n) for name, n in LENGTHS.items()}) == SHAPES


def test_lengths_are_read_where_an_axis_is_a_name():
    found = lengths_of(AxesTestState, SHAPES.values())
    assert found == {"features": 5, "outputs": 2, "room": 4}


def test_equal_axes_are_equal_text():
    axes = {array.name: array.axes for array in arrays_of(AxesTestState)}
    assert axes["points.columns"] == ("features", "odd_blocks(room + 1)")
    assert axes["part.a"] == ("2 * room + 1",)
    assert axes["again.a"] == ("1 + 1",)


def test_a_length_that_is_not_given_is_named():
    lengths = {name: n for name, n in LENGTHS.items() if name != "rank"}
    with pytest.raises(TypeError, match=r"AxesTestState\.grid: name 'rank' is not defined"):
        shapes_of(AxesTestState, lengths)


def test_axes_and_dimensions_must_agree():
    class AxesTestFlat(NamedTuple):
        a: Annotated[Matrix, "room"]

    class AxesTestBare(NamedTuple):
        a: Matrix

    with pytest.raises(TypeError, match=r"AxesTestFlat\.a has 2 dimensions"):
        shapes_of(AxesTestFlat, LENGTHS)
    with pytest.raises(TypeError, match=r"AxesTestBare\.a does not declare its axes"):
        shapes_of(AxesTestBare, LENGTHS)


def test_scratch_arrays_have_the_lengths_of_the_state_and_do_not_overlap():
    cut, count = scratch_for(AxesTestScratch, AxesTestState)
    state = viewer(AxesTestState)(new())
    n = 8 + 8 + 4 * 9 + 2
    assert count(state) == n == AxesTestLearner().scratch_size(new())

    @njit
    def number(state, scratch):
        work = compiled_cut(0, state, scratch)
        next_number = 0.0
        for array in (work.row, work.block, work.outputs):
            for i in range(array.shape[0]):
                array[i] = next_number
                next_number += 1.0
        for i in range(work.grid.shape[0]):
            for j in range(work.grid.shape[1]):
                work.grid[i, j] = next_number
                next_number += 1.0
        return next_number

    compiled_cut = njit(cut)
    scratch = np.full(n + 1, -1.0)
    assert number(state, scratch) == n
    np.testing.assert_array_equal(np.sort(scratch), np.arange(-1.0, n))
    assert scratch[-1] == -1.0


def test_an_axis_that_no_array_of_the_state_has_is_refused():
    with pytest.raises(TypeError, match=r"AxesTestWork\.row: no array of AxesTestState has"):
        scratch_for(AxesTestWork, AxesTestState)


def test_a_rule_takes_fields_by_name_in_their_types():
    rule = AxesTestLearner(kernel=Gaussian(2), budget=np.int64(7), eta=1).rule()
    assert rule == (Gaussian(2.0), Hinge(), 7, 1.0, 2.0, 0.5)
    assert [type(value) for value in rule] == [Gaussian, Hinge, int, float, float, float]
    assert type(rule.kernel.bandwidth) is float


def test_kernels_and_losses_are_checked():
    for change in ({"kernel": Gaussian(-1.0)}, {"kernel": "rbf"}, {"loss": Gaussian()}):
        with pytest.raises(ValueError, match=next(iter(change))):
            AxesTestLearner(**change)


def test_a_state_grows_by_doubling_up_to_the_most():
    learner = AxesTestLearner()
    memory, rooms = filled(learner), []
    for _ in range(3):
        view = learner.view(memory)
        before = [array.copy() for array in leaves(view)]
        memory = learner.doubled(view, "room")
        for old, array in zip(before, leaves(learner.view(memory)), strict=True):
            np.testing.assert_array_equal(array[tuple(map(slice, old.shape))], old)
        rooms.append(learner.view(memory).grid.shape[1])
        learner.check_memory(memory, 5, 2)
    assert rooms == [8, 10, 10]


def test_a_wider_state_has_zeros_for_new_features():
    learner = AxesTestLearner()
    memory = filled(learner)
    old, new = learner.view(memory), learner.view(learner.widened(memory, 9))
    assert new.points.columns.shape == (9, 8)
    np.testing.assert_array_equal(new.points.columns[:5], old.points.columns)
    assert (new.points.columns[5:] == 0.0).all()
    np.testing.assert_array_equal(new.grid, old.grid)


def test_more_outputs_are_copies_of_the_last():
    learner = AxesTestLearner()
    memory = filled(learner)
    old, new = learner.view(memory), learner.view(learner.with_outputs(memory, 4))
    for ours, before in ((new.grid, old.grid), (new.part.b, old.part.b)):
        np.testing.assert_array_equal(ours[:2], before)
        np.testing.assert_array_equal(ours[2:], np.broadcast_to(before[1], ours[2:].shape))


@pytest.mark.parametrize("claimed", [3, 5, 20, -4, 2**62])
def test_a_memory_with_a_room_that_cannot_be_is_refused(claimed):
    learner, memory = AxesTestLearner(), new()
    line = [array.name for array in arrays_of(AxesTestState)].index("grid")
    memory.ints[4 * line + 2] = claimed
    with pytest.raises(ValueError, match="claims a room of"):
        learner.check_memory(memory, 5, 2)


def test_a_memory_of_other_sizes_is_refused():
    learner, memory = AxesTestLearner(), new()
    learner.check_memory(memory, 5, 2)
    for sizes in ((4, 2), (5, 3)):
        with pytest.raises(ValueError, match="the memory has"):
            learner.check_memory(memory, *sizes)
    memory.event[1] = -1
    with pytest.raises(ValueError, match="mends"):
        learner.check_memory(memory, 5, 2)


def test_a_field_that_a_rule_needs_and_nobody_has_is_named():
    class AxesTestNeedy(NamedTuple):
        kernel: Kernel
        gamma: float

    class Needy(AxesTestLearner):
        rule_class = AxesTestNeedy

    with pytest.raises(TypeError, match="Needy has no 'gamma' for its AxesTestNeedy"):
        Needy().rule()


def test_a_state_begins_with_counts():
    class AxesTestCountless(NamedTuple):
        alpha: Annotated[Vector, "budget"]
        counts: Annotated[Counter, 2]

    class AxesTestCountlessRule(NamedTuple):
        budget: int

    with pytest.raises(TypeError, match="first field of AxesTestCountless must be counts"):

        class Countless(AxesTestLearner):
            state_class, rule_class = AxesTestCountless, AxesTestCountlessRule


def test_a_subclass_with_a_state_of_its_own_keeps_that():
    class AxesTestOwnState(NamedTuple):
        counts: Annotated[Counter, 2]
        alpha: Annotated[Vector, "budget"]

    class AxesTestOwnRule(NamedTuple):
        budget: int

    class AxesTestOwnWork(NamedTuple):
        row: Annotated[Vector, "budget"]

    class Own(AxesTestLearner):
        state_class, work_class, rule_class = AxesTestOwnState, AxesTestOwnWork, AxesTestOwnRule

        def growing(self):
            return {}

    assert Own(budget=5).view(new(Own(budget=5))).alpha.shape == (5,)
