"""Calls of compiled code with all arguments in their places.

To take seven arrays and a nested tuple out of their Python objects costs compiled code half a
microsecond a call, as much as a round in few dimensions. Where the same arguments come again and
again, and only what is in the arrays is new, they are taken out once and stored as they lie in
compiled code's own memory; a call then hands over two addresses.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from forks._jit import JIT, entry


class Bound:
    """A compiled function, called with the arguments that were put in their places last.

    Parameters
    ----------
    function : entry
        It is compiled at the first call, for the types of the arguments. All that come later must
        be of these types.

    Attributes
    ----------
    call : callable
        Calls the function; as long as this object lives.
    """

    call: Callable[[], Any]

    def __init__(self, function: entry) -> None:
        # Counters of memory follow every reference; they stop at a plain function, while an entry
        # leads them to all of the compiler.
        self.call = lambda: self._first_call(function)
        self._store = lambda arguments: None  # not yet known how

    def put(self, *arguments: Any) -> None:
        """Go on with these arguments."""
        self._arguments = arguments  # compiled code has their addresses and no more
        self._store(arguments)

    def _first_call(self, function: entry) -> Any:
        if JIT:
            code, size, store, enter = _way_in(function, self._arguments)
            self._room = np.zeros(size, dtype=np.uint8)
            place = self._room.ctypes.data
            self._store = lambda arguments: store(place, arguments)
            self._store(self._arguments)
            self.call = lambda: enter(code, place)
        else:
            version = function.over(*self._arguments)
            self.call = lambda: version(*self._arguments)
        return self.call()


_ways_in: dict[Any, Any] = {}  # never forgotten: machine code must stay where it is


def _way_in(function: entry, arguments: tuple[Any, ...]) -> Any:
    """Give the address of the code, the size of the arguments, and how to store and to call."""
    kinds = function, _kind(arguments)
    if kinds not in _ways_in:
        signature = tuple(map(numba.typeof, arguments))
        version: Any = function.over(*arguments)
        version.compile(signature)
        compiled = version.overloads[signature]
        code = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        kind, answer = types.Tuple(signature), compiled.signature.return_type
        context = cpu_target.target_context
        size = context.get_abi_sizeof(context.get_value_type(kind))

        def store(place, arguments):
            _store(place, arguments)

        def call(code, place):
            return _call(code, place, kind, answer)

        ways = entry(store).direct(0, arguments), entry(call).direct(0, 0, parts=arguments)
        _ways_in[kinds] = code, size, *ways
    return _ways_in[kinds]


def _kind(argument: Any) -> Any:
    """Tell arguments apart as numba does; it takes ten times as long."""
    if isinstance(argument, tuple):
        return type(argument), *map(_kind, argument)
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.c_contiguous
    return type(argument)


@intrinsic
def _store(typing_context, place, arguments):
    """Write arguments to a place, as they lie in compiled code's memory."""

    def write(context, builder, signature, values):
        place, value = values[0], _uncounted(context, builder, arguments, values[1])
        builder.store(value, builder.inttoptr(place, value.type.as_pointer()))

    return types.void(types.int64, arguments), write


def _uncounted(context, builder, kind, value):
    """Take away from arrays what counts references to them: it does not outlive the call."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind):
            new = _uncounted(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, new, i)
    return value


@intrinsic
def _call(typing_context, code, place, kind, answer):
    """Call machine code with the arguments that are stored at a place."""
    arguments, result = kind.instance_type, answer.instance_type

    def call(context, builder, signature, values):
        stored = context.get_value_type(arguments).as_pointer()
        value = builder.load(builder.inttoptr(values[1], stored))
        parts = [builder.extract_value(value, i) for i in range(len(arguments))]
        convention = context.call_conv
        function = convention.get_function_type(result, arguments.types).as_pointer()
        status, given = convention.call_function(
            builder, builder.inttoptr(values[0], function), result, arguments.types, parts
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return given

    return result(types.int64, types.int64, kind, answer), call
