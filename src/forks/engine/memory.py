"""A learner's state as two flat arrays, seen through a NamedTuple of views.

Handing a tuple of many arrays from Python to compiled code costs about 0.3 microseconds an array,
two flat arrays cost 0.1 each. So the memory of a learner is one array of floats and one of
integers; compiled code and Python alike look at it through the views of a state class, made by
`viewer`. Copying, pickling, storing and measuring a state are then a matter of two arrays.

`ints` starts with a table of four integers per array (offset, then up to three lengths), in the
order of the state's fields; the integer fields follow the table.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from forks.engine.axes import Array, arrays_of, fields_of, lengths_of, shapes_of
from forks.engine.compile import JIT
from forks.engine.types import Counter, Vector

_ALIGN = 8  # floats: each array starts a whole number of 64-byte lines after the first


class Memory(NamedTuple):
    """Everything that learning changes."""

    floats: Vector
    ints: Counter

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.floats.nbytes + self.ints.nbytes)

    @property
    def event(self) -> Counter:
        """Event code and counts of a learner: the first array of every state."""
        counts: Counter = self.ints[self.ints[0] :]
        return counts

    def copy(self) -> "Memory":
        """Return an independent copy, placed in memory as `allocate` places it."""
        floats = _aligned_zeros(self.floats.shape[0])
        floats[:] = self.floats
        return Memory(floats, self.ints.copy())


def allocate(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> Memory:
    """Reserve zeros for a state class; `shapes` names every array, nested ones with a dot."""
    table, n_floats, n_ints = _layout(state_class, shapes)
    ints = np.zeros(n_ints, np.int64)
    ints[: len(table)] = table
    return Memory(_aligned_zeros(n_floats), ints)


def _layout(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> tuple[list[int], int, int]:
    """Return the table, and how many floats and integers it takes, reserving nothing."""
    arrays = arrays_of(state_class)
    if {array.name for array in arrays} != set(shapes):
        raise TypeError(f"shapes of {state_class.__name__} do not name its arrays")
    for array in arrays:
        if len(shapes[array.name]) != array.ndim:
            raise TypeError(
                f"{state_class.__name__}.{array.name} has {array.ndim} dimensions, "
                f"got {shapes[array.name]}"
            )
    return layout_of(arrays, shapes)


def layout_of(
    arrays: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[list[int], int, int]:
    """Return the table of arrays, each with a name, a kind and a number of dimensions, and how many
    floats and integers they take with it.
    """
    table: list[int] = []
    n_floats, n_ints = 0, 4 * len(arrays)
    for name, kind, ndim, *_ in arrays:
        shape = [int(length) for length in shapes[name]]
        table += [n_floats if kind is float else n_ints, *shape, *[0] * (3 - ndim)]
        if kind is float:
            n_floats += -(-math.prod(shape) // _ALIGN) * _ALIGN
        else:
            n_ints += math.prod(shape)
    return table, n_floats, n_ints


def size_of(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, int]:
    """Count the floats and integers that `allocate` would reserve."""
    return _layout(state_class, shapes)[1:]


def claimed_lengths(state_class: type, memory: Memory) -> dict[str, int]:
    """Return the lengths that the table of a memory claims; nothing else of it is trusted."""
    arrays = arrays_of(state_class)
    ints = memory.ints
    if ints.dtype != np.int64 or ints.ndim != 1 or ints.shape[0] < 4 * len(arrays):
        raise ValueError("the memory has no table")
    lines = ints[: 4 * len(arrays)].reshape(-1, 4).tolist()
    return lengths_of(state_class, (tuple(line[1:]) for line in lines))


def check_layout(state_class: type, shapes: Mapping[str, tuple[int, ...]], memory: Memory) -> None:
    """Check that memory from outside is laid out as by `allocate`, so that views stay inside."""
    floats, ints = memory
    for array, kind in ((floats, np.float64), (ints, np.int64)):
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(f"the memory has {array.dtype} of shape {array.shape}")
    table, n_floats, n_ints = _layout(state_class, shapes)
    if (floats.shape[0], ints.shape[0]) != (n_floats, n_ints):
        raise ValueError(
            f"the memory has {floats.shape[0]} floats and {ints.shape[0]} integers, "
            f"and should have {n_floats} and {n_ints}: damaged, or of another forks"
        )
    if ints[: len(table)].tolist() != table:
        raise ValueError("the table of the memory is wrong")


def _aligned_zeros(n: int) -> Vector:
    """Zeros that start at a 64-byte line: a block that lies across two takes twice as long."""
    room = np.zeros(n + _ALIGN - 1)
    start = -(room.ctypes.data // 8) % _ALIGN
    return room[start : start + n]


def resized(view: Any, lengths: Mapping[str, int]) -> Memory:
    """Return a copy of a state for other lengths of its axes; what is new is zero.

    Each array keeps its place in the corner of the new one.
    """
    cls: Any = type(view)
    memory = allocate(cls, shapes_of(cls, lengths))
    for old, new in zip(arrays_in(view), arrays_in(viewer(cls)(memory)), strict=True):
        new[tuple(map(slice, old.shape))] = old
    return memory


def lengths_in(view: Any) -> dict[str, int]:
    """Return the lengths of a state that its axes name."""
    return lengths_of(type(view), (array.shape for array in arrays_in(view)))


def repeat_last(old: Any, new: Any, axis: str) -> None:
    """Fill what is new along an axis with copies of the last there, after `resized`."""
    state_class: Any = type(old)
    arrays = zip(arrays_in(old), arrays_in(new), strict=True)
    for array, (before, after) in zip(arrays_of(state_class), arrays, strict=True):
        if axis in array.axes:
            outer = (slice(None),) * array.axes.index(axis)
            last = before.shape[len(outer)] - 1
            after[*outer, last + 1 :] = before[*outer, last:]


def arrays_in(view: Any) -> Iterator[Any]:
    """Yield the arrays of a state, those of nested parts in their place."""
    for part in view:
        if isinstance(part, tuple):
            yield from arrays_in(part)
        else:
            yield part


_SLICE = "{flat}[{start} : {start} + {size}].reshape({shape})"
_POINTER = "view({flat}, {start}, {shape})" if JIT else _SLICE


@cache
def viewer(state_class: type) -> Callable[[Memory], Any]:
    """Make the function that shows flat memory as a state, in Python."""
    views = []
    for line, array in enumerate(arrays_of(state_class)):
        flat = "floats" if array.kind is float else "ints"
        lengths = [f"ints[{4 * line + 1 + i}]" for i in range(array.ndim)]
        views.append(_view(_SLICE, flat, f"ints[{4 * line}]", lengths))
    namespace: dict[str, Any] = {}
    made = _written_out(state_class, iter(views), namespace)
    view = _function("attach(floats, ints)", [f"return {made}"], namespace)
    return lambda memory: view(*memory)


def compiled_viewer(state_class: type) -> Callable[..., Any]:
    """Make the body (rule, floats, ints) -> state of `attach`, for compiled code.

    The class may be the first field of the one that was allocated: its arrays come first.
    """
    if not JIT:
        view = viewer(state_class)
        return lambda rule, floats, ints: view(Memory(floats, ints))
    attached = _attached(state_class)
    return lambda rule, floats, ints: attached(floats, ints)


def _attached(state_class: type) -> Any:
    """Make the intrinsic (floats, ints) -> state.

    All views are made at once, from addresses: slices and reshapes, with their checks and
    reference counts, take seconds to compile, and even a call for each array takes one.
    """
    arrays = arrays_of(state_class)

    @intrinsic
    def attached(typing_context, floats, ints):
        flat = [floats if array.kind is float else ints for array in arrays]
        kinds = [
            types.Array(of.dtype, array.ndim, "C") for of, array in zip(flat, arrays, strict=True)
        ]
        made = _type_of(state_class, iter(kinds))

        def code(context, builder, signature, arguments):
            sources = [
                cgutils.create_struct_proxy(kind)(context, builder, value)
                for kind, value in zip((floats, ints), arguments, strict=True)
            ]

            def entry(place):
                return builder.load(builder.gep(sources[1].data, [cgutils.intp_t(place)]))

            views = []
            for line, (array, kind) in enumerate(zip(arrays, kinds, strict=True)):
                source = sources[0 if array.kind is float else 1]
                lengths = [entry(4 * line + 1 + i) for i in range(array.ndim)]
                views.append(_view_at(context, builder, kind, source, entry(4 * line), lengths))
            return _value_of(context, builder, made, iter(views))

        return made(floats, ints), code

    return attached


def _type_of(cls: type, kinds: Iterator[Any]) -> Any:
    """Return the type that a class has in compiled code, from those of its arrays."""
    fields = [
        next(kinds) if part is None else _type_of(part, kinds) for _, part, _ in fields_of(cls)
    ]
    return types.BaseTuple.from_types(fields, cls)


def _value_of(context: Any, builder: Any, made: Any, views: Iterator[Any]) -> Any:
    """Return the value of such a type, from its arrays."""
    fields = [
        _value_of(context, builder, kind, views) if isinstance(kind, types.BaseTuple)
        else next(views)
        for kind in made.types
    ]  # fmt: skip
    return context.make_tuple(builder, made, fields)


@cache
def scratch_for(
    work_class: type, state_class: type
) -> tuple[Callable[..., Any], Callable[[Any], int]]:
    """Make the body (rule, state, scratch) -> work of `workspace`, and the count of its floats.

    Each axis of a scratch array is a number, or that of some array of the state, whose length it
    has. The count, a function of the state, is made from the same lengths.
    """
    views, lines, end = [], [], "0"
    for i, array in enumerate(arrays_of(work_class)):
        lengths = [_length_in(state_class, axis, work_class, array) for axis in array.axes]
        lines.append(f"start{i} = {end}")
        views.append(_view(_POINTER, "scratch", f"start{i}", lengths))
        end = f"start{i} + {' * '.join(lengths)}"
    namespace: dict[str, Any] = {}
    made = _written_out(work_class, iter(views), namespace)
    cut = _function("workspace(rule, state, scratch)", [*lines, f"return {made}"], namespace)
    return cut, _function("scratch_size(state)", [*lines, f"return {end}"], {})


def _length_in(state_class: type, axis: str, work_class: type, scratch: Array) -> str:
    """Return where compiled code finds the length of an axis."""
    if axis.isdecimal():
        return axis
    for array in arrays_of(state_class):
        if axis in array.axes:
            return f"state.{array.name}.shape[{array.axes.index(axis)}]"
    raise TypeError(
        f"{work_class.__name__}.{scratch.name}: no array of {state_class.__name__} has the axis "
        f"{axis!r}"
    )


def _view(template: str, flat: str, start: str, lengths: list[str]) -> str:
    shape = f"({', '.join(lengths)},)"
    return template.format(flat=flat, start=start, size=" * ".join(lengths), shape=shape)


def _written_out(cls: type, views: Iterator[str], namespace: dict[str, Any]) -> str:
    """Write out the making of a class from views: compiled code needs the type of every field."""
    namespace[cls.__name__] = cls
    parts = [
        next(views) if part is None else _written_out(part, views, namespace)
        for _, part, _ in fields_of(cls)
    ]
    return f"{cls.__name__}({', '.join(parts)})"


def _function(head: str, lines: list[str], namespace: dict[str, Any]) -> Callable[..., Any]:
    source = "".join([f"def {head}:\n", *(f"    {line}\n" for line in lines)])
    namespace |= {"view": view, "__name__": __name__}
    exec(compile(source, f"<{head}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[head.partition("(")[0]]
    return function


@intrinsic
def view(typing_context, flat, start, shape):
    """The C-ordered array of this shape that starts at flat[start], without reference counts."""
    made = types.Array(flat.dtype, len(shape), "C")

    def code(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(flat)(context, builder, arguments[0])
        lengths = cgutils.unpack_tuple(builder, arguments[2])
        return _view_at(context, builder, made, source, arguments[1], lengths)

    return made(flat, types.int64, shape), code


def _view_at(
    context: Any, builder: Any, made: Any, source: Any, start: Any, lengths: list[Any]
) -> Any:
    """Return the array of a type that begins at an element of another one."""
    itemsize = cgutils.intp_t(made.dtype.bitwidth // 8)
    strides = [itemsize]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = make_array(made)(context, builder)
    data = builder.gep(source.data, [start])
    populate_array(
        array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None
    )
    return array._getvalue()
