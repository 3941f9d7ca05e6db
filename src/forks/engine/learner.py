"""What a learner is.

A learner has four parts, kept apart:

- the configuration, a frozen dataclass derived from `Learner`: what the user chose, checked when
  it is made;
- the rule, a NamedTuple of the numbers, the kernel and the loss that compiled code needs;
- the state, a NamedTuple of arrays that learning changes in place (views of a flat `Memory`);
- the work, a NamedTuple of scratch arrays.

State and work declare the axes of their arrays (`forks.engine.axes`), the configuration names the
three classes, and all that has to do with memory follows from that. Compiled code is reached
through four verbs, registered for the rule's type: `attach` (flat memory to state) and `workspace`
(scratch arrays of one call), which are derived, `score` and `step` (one round), which the learner
defines.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from numbers import Integral
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from forks.engine.axes import arrays_of, lengths_of, shapes_of
from forks.engine.checks import is_doubled
from forks.engine.memory import (
    Memory,
    allocate,
    check_layout,
    claimed_lengths,
    compiled_viewer,
    lengths_in,
    repeat_last,
    resized,
    scratch_for,
    size_of,
    viewer,
)
from forks.engine.older import Lines, describe, is_much_too_small, stored_arrays, take_over
from forks.engine.outputs import count_outputs, fill_outputs
from forks.engine.protocol import EVENT, MANY, MENDS, attach, workspace
from forks.engine.types import Matrix, Vector

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


class Limit(NamedTuple):
    """Numbers of a state that lie between two bounds, both allowed."""

    name: str
    values: Any
    low: float
    high: float


class Growth(NamedTuple):
    """A length that is doubled when there is no more room, from the first on and up to the most."""

    first: int
    most: int | None = None


class Learner(ABC):
    """Configuration of an online kernel learner.

    A subclass is a frozen dataclass and names its classes: `rule_class`, `state_class`,
    `work_class`, and `memory_class` if the state is only the first field of what is kept.
    """

    rule_class: ClassVar[type]
    state_class: ClassVar[type]
    work_class: ClassVar[type]
    memory_class: ClassVar[type]
    multi_output: ClassVar[bool] = False  # can it learn several outputs on one state?
    alike: ClassVar[tuple[str, ...]] = ()  # arrays that are the same for an output and its negative
    events_need_rows: ClassVar[bool] = True  # does `handle` look at the row, which is made dense?

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "rule_class" in own:
            first = arrays_of(cls.state_class)[0]
            if (first.name, first.kind) != ("counts", int):
                raise TypeError(f"the first field of {cls.state_class.__name__} must be counts")
            attach.register(cls.rule_class)(compiled_viewer(cls.state_class))
            workspace.register(cls.rule_class)(scratch_for(cls.work_class, cls.state_class)[0])
            inherits = hasattr(cls, "memory_class") and "state_class" not in own
            if "memory_class" not in own and not inherits:
                cls.memory_class = cls.state_class

    def __post_init__(self) -> None:
        """Check the fields whose types have a check, as kernels and losses do."""
        conversions = _conversions(type(self))
        for name, value in _fields(self).items():
            if not isinstance(conversions[name], type):
                conversions[name](value)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of problem that it can learn; a loss that does not say is good for both."""
        loss = getattr(self, "loss", None)
        if loss is None:
            return ("classification",)
        return (loss.task,) if hasattr(loss, "task") else ("classification", "regression")

    # ---- what compiled code gets ---------------------------------------------------------------

    def rule(self) -> Any:
        """Return the NamedTuple that compiled code gets; always of the same field types.

        Its fields are those of `derived`, of `lengths` and of the configuration, by name.
        """
        rule_class: Any = self.rule_class
        given = {**rule_class._field_defaults, **_fields(self), **self.lengths(), **self.derived()}
        conversions = _conversions(rule_class)
        for name in conversions.keys() - given.keys():
            raise TypeError(f"{type(self).__name__} has no {name!r} for its {rule_class.__name__}")
        return rule_class(**{name: conversions[name](given[name]) for name in conversions})

    def rule_ahead(self) -> Any:
        """Return the rule for scoring the next row of the stream, whose label is to come.

        By default it is `rule`, which also scores rows whose labels will not come.
        """
        return self.rule()

    def derived(self) -> dict[str, Any]:
        """Return the fields of the rule that the configuration does not have as they are."""
        return {}

    def lengths(self) -> dict[str, Any]:
        """Return the numbers that axes name, beside features and outputs: by default all fields
        that are whole numbers.
        """
        return {
            name: value
            for name, value in _fields(self).items()
            if isinstance(value, Integral) and not isinstance(value, bool)
        }

    def growing(self) -> dict[str, Growth]:
        """Return the lengths that grow with the stream."""
        return {}

    # ---- memory --------------------------------------------------------------------------------

    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return the memory of a learner that has seen nothing."""
        first = {name: growth.first for name, growth in self.growing().items()}
        memory = allocate(self.memory_class, self.shapes(n_features, n_outputs, **first))
        self.begin(self.view(memory), rng)
        return memory

    def begin(self, view: Any, rng: np.random.Generator) -> None:
        """Set what does not start as zero: by default the seeds of a field `random`."""
        if hasattr(view, "random"):
            view.random[:] = rng.integers(2**63, size=view.random.shape)

    def shapes(self, n_features: int, n_outputs: int, **more: int) -> Shapes:
        """Return the shapes of the arrays of the memory, with `more` lengths."""
        sizes = {"features": n_features, "outputs": n_outputs, **more}
        return shapes_of(self.memory_class, {**self.lengths(), **sizes})

    def view(self, memory: Memory) -> Any:
        """Show the memory as a NamedTuple of arrays."""
        return viewer(self.memory_class)(memory)

    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""
        count = scratch_for(self.work_class, self.state_class)[1]
        return count(viewer(self.state_class)(memory))

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Return the memory for rows with more features, which were 0 in all rows so far.

        Kept points have a 0 there, so nothing that was learned changes.
        """
        return self.resized(self.view(memory), features=n_features)

    def with_outputs(self, memory: Memory, n_outputs: int) -> Memory:
        """Return the memory for more outputs, copies of the last one.

        An output that has had the last one's targets so far would be what the last one is.
        """
        old = self.view(memory)
        larger = self.resized(old, outputs=n_outputs)
        repeat_last(old, self.view(larger), "outputs")
        return larger

    def with_classes(self, memory: Memory, sources: tuple[int, ...]) -> Memory:
        """Return the memory for other classes: see `forks.engine.outputs`."""
        old = self.view(memory)
        larger = self.resized(old, outputs=count_outputs(len(sources)))
        fill_outputs(old, self.view(larger), sources, self.alike)
        return larger

    def doubled(self, view: Any, *names: str) -> Memory:
        """Return a copy of the state with more room by these lengths, and no event."""
        growing, now = self.growing(), lengths_in(view)
        larger = {}
        for name in names:
            most = growing[name].most
            larger[name] = 2 * now[name] if most is None else min(2 * now[name], most)
        memory = self.resized(view, **larger)
        memory.event[EVENT] = 0
        return memory

    def resized(self, view: Any, **changed: int) -> Memory:
        """Return a copy of the state for other lengths of its axes; what is new is zero."""
        return resized(view, {**self.lengths(), **lengths_in(view), **changed})

    # ---- forks ---------------------------------------------------------------------------------

    def for_forks(self) -> "Learner":
        """Return the learner of forks, which can be merged.

        Raises
        ------
        ValueError
            That says why not: by default, because what is learned is no sum over rows.
        """
        raise ValueError(
            f"{type(self).__name__} cannot be forked: what it learns is no sum over rows, so that "
            "models which have learned apart could not be merged"
        )

    def forked(self, memory: Memory, rows: int = 0) -> Memory:
        """Return the memory that forks begin with, which will learn so many rows together.

        ValueError if it is too early for that.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forks")

    def largest_error(self, memory: Memory) -> float:
        """Return the error of a prediction beyond which a row counts less in a fork.

        Forks do not clip slopes by their own predictions, which would depend on the order of rows.
        """
        del memory
        return np.inf

    def weigh_anew(self, memory: Memory) -> None:
        """Judge parts of a fork that compete by the rows to come alone, in place."""
        del memory

    def merged(self, start: Memory, forks: Sequence[Memory]) -> Memory:
        """Return what forks have learned together, again as a fork; `start` is their begin.

        Both are memories that `forked` has made. Nothing that is given is changed.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forks")

    def rejoined(self, memory: Memory, before: Memory) -> Memory:
        """Return the memory with which this learner goes on after its forks have been merged.

        `memory` is theirs, and `before` the one that was forked.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forks")

    # ---- memory from outside -------------------------------------------------------------------

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class, and the shapes that a memory of this one's size should have.

        Of the memory, which may come from anywhere, the table is looked at if lengths can grow.
        """
        if n_outputs != 1 and not self.multi_output:
            raise ValueError(f"{type(self).__name__} has one output, not {n_outputs}")
        grown = {}
        for name, growth in self.growing().items():
            length = claimed_lengths(self.memory_class, memory)[name]
            if not is_doubled(length, *growth):
                raise ValueError(f"the memory claims a {name} of {length}, which it cannot have")
            grown[name] = length
        return self.memory_class, self.shapes(n_features, n_outputs, **grown)

    def described(self) -> dict[str, Lines]:
        """Return what a file says about the arrays of a memory, and of others in it, by learner."""
        return {type(self).__name__: describe(self.memory_class)}

    def brought_up(
        self, memory: Memory, candidates: Mapping[str, list[Lines]], sizes: tuple[int, int]
    ) -> Memory:
        """Return the memory from a file of another version as this one would have it.

        `candidates` are what its arrays may be, by learner, and `sizes` the numbers of features and
        of outputs. What has come since begins as in a learner that has seen nothing. What fits no
        candidate, or is much too small, is returned as it is; nothing else is checked.
        """
        stored = stored_arrays(memory, candidates[type(self).__name__])
        arrays = arrays_of(self.memory_class)
        if stored is None or stored.keys() == {array.name for array in arrays}:
            return memory
        shapes = (getattr(stored.get(array.name), "shape", ()) for array in arrays)
        grown = lengths_of(self.memory_class, shapes)
        given = self.shapes(*sizes, **{name: grown[name] for name in self.growing()})
        if is_much_too_small(memory, size_of(self.memory_class, given)):
            return memory
        begun = allocate(self.memory_class, given)
        self.begin(self.view(begun), np.random.default_rng(0))
        take_over(begun, self.memory_class, stored)
        return begun

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of all integers that compiled code relies on, and of some floats."""
        raise NotImplementedError(f"{type(self).__name__} cannot check a memory")

    def check_memory(self, memory: Memory, n_features: int, n_outputs: int) -> None:
        """Check that memory from outside can be this learner's, and safe for compiled code.

        Raises
        ------
        ValueError
            That says what is wrong.
        """
        check_layout(*self.layout(n_features, n_outputs, memory), memory)
        if not np.isfinite(memory.floats).all():
            raise ValueError("the memory has numbers that are not finite")
        if memory.event[EVENT] != 0:
            raise ValueError("the memory has an event that is not done")
        mends = Limit("mends", memory.event[MENDS], 0, MANY)
        for name, values, low, high in [mends, *self.limits(self.view(memory))]:
            values = np.asarray(values)
            if not (np.all(values >= low) and np.all(values <= high)):  # also for NaN
                raise ValueError(f"{name} is out of its bounds, {low} to {high}")

    def expect_delay(self, view: Any, n: int) -> None:
        """Take into account that labels come n rows late; by default nothing depends on it."""
        del view, n

    # ---- rounds --------------------------------------------------------------------------------

    def handle(self, view: Any, x: Vector) -> Memory | None:
        """Handle the event that row x has raised, in place or in a new memory that takes over.

        `view` shows a copy; whatever is raised here, it is thrown away. x is empty if
        `events_need_rows` is False.
        """
        raise NotImplementedError(f"{type(self).__name__} has no events")

    @abstractmethod
    def stored_points(self, memory: Memory) -> int:
        """Count the points that the learner keeps now."""

    def map_updates(self, memory: Memory) -> int:
        """Count the update rounds, which changed a feature map."""
        del memory
        return 0

    def rounds_since_switch(self, memory: Memory) -> int | None:
        """Count the rounds of stage two, or None for a learner of one stage.

        The FORKS paper leaves the mistakes of stage one, and of the round that ends it, out. A
        row of weight zero is no round.
        """
        del memory
        return None

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1 that scores stand for; None if they stand for none."""
        if not getattr(getattr(self, "loss", None), "probabilistic", False):
            return None
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))  # the logistic function, safely

    def mean_row(self, memory: Memory) -> Vector | None:
        """Return the mean of the rows that are kept; None for a learner that keeps none as such."""
        del memory
        return None

    def features(self, memory: Memory, X: Matrix) -> Matrix | None:
        """Return the features of dense rows, one per column, in which the score is linear now.

        None for a learner that has no such map, or none yet.
        """
        del memory, X
        return None


def _fields(learner: Any) -> dict[str, Any]:
    return {field.name: getattr(learner, field.name) for field in fields(learner)}


@cache
def _conversions(cls: type) -> dict[str, Callable[[Any], Any]]:
    """Return what brings the fields of a class into their declared types, by name.

    That is a type, or the function that an annotation has: ``Annotated[Any, check_kernel]``.
    """
    known = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        if hint in (bool, int, float) or any(map(callable, marks)):
            known[name] = next(filter(callable, marks), hint)
        else:
            known[name] = _as_it_is
    return known


def _as_it_is(value: Any) -> Any:
    return value
