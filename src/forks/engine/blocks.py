"""Eight floats at a time, for the loops that make up a round.

A compiler's own vectorisation serves long loops; ours run over some 10 to 100 numbers, and below
16 they would stay scalar. So the inner loops are written over blocks of `LANES` numbers, and the
arrays that they read are padded to whole blocks (`padded`). The compiler turns a block into
whatever vectors the machine has.

In compiled code a block is a value of its own type; with compilation disabled it is an array of
eight numbers, and the same functions work on that.
"""

import math
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.types import containers
from numba.extending import intrinsic, register_model

from forks.engine.compile import JIT

LANES = 8


def padded(n: int) -> int:
    """Round up to whole blocks."""
    return -(-n // LANES) * LANES


class BlockType(types.Type):
    """Compiled code's type of a block."""

    def __init__(self) -> None:
        super().__init__(name="forks.Block")


_block = BlockType()
_double = ir.DoubleType()
_vector = ir.VectorType(_double, LANES)


@register_model(BlockType)
class _BlockModel(PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _vector)


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_vector, [value] * LANES)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    """Call an LLVM intrinsic on blocks."""
    kind = ir.FunctionType(_vector, [_vector] * len(arguments))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
    return builder.call(function, arguments)


def _place(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _vector.as_pointer())


@intrinsic
def load(typing_context, array, at):
    """The block that starts at flat position `at` of a C-ordered array."""

    def code(context, builder, signature, arguments):
        return builder.load(_place(context, builder, array, *arguments), align=8)

    return _block(array, types.int64), code


@intrinsic
def store(typing_context, block, array, at):
    """Write a block at flat position `at` of a C-ordered array."""

    def code(context, builder, signature, arguments):
        block, target, at = arguments
        builder.store(block, _place(context, builder, array, target, at), align=8)
        return context.get_dummy_value()

    return types.void(_block, array, types.int64), code


@intrinsic
def splat(typing_context, number):
    """Eight times the same number."""

    def code(context, builder, signature, arguments):
        lane_0 = builder.insert_element(
            ir.Constant(_vector, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(lane_0, ir.Constant(_vector, ir.Undefined), mask)

    return _block(types.float64), code


def _operation(instruction: str) -> Any:
    """Make the function of two blocks that is one instruction of LLVM."""

    def operation(typing_context, a, b):
        def code(context, builder, signature, arguments):
            return getattr(builder, instruction)(*arguments)

        return _block(_block, _block), code

    return intrinsic(operation)


plus, minus = _operation("fadd"), _operation("fsub")
times, divide = _operation("fmul"), _operation("fdiv")


@intrinsic
def plus_positive(typing_context, a, b):
    """a + max(b, 0)."""

    def code(context, builder, signature, arguments):
        a, b = arguments
        positive = builder.fcmp_ordered(">", b, _constant(0.0))
        return builder.fadd(a, builder.select(positive, b, _constant(0.0)))

    return _block(_block, _block), code


@intrinsic
def fma(typing_context, a, b, c):
    """a b + c."""

    def code(context, builder, signature, arguments):
        return _call(builder, "fmuladd", *arguments)

    return _block(_block, _block, _block), code


@intrinsic
def absolute(typing_context, a):
    """|a|."""

    def code(context, builder, signature, arguments):
        return _call(builder, "fabs", *arguments)

    return _block(_block), code


@intrinsic
def total(typing_context, a):
    """Sum of the eight numbers.

    By halves, written out: LLVM's own reduction is rounded as the code around it asks for.
    """

    def code(context, builder, signature, arguments):
        (sums,) = arguments
        for half in (4, 2, 1):
            lanes = [half + k if k < half else k for k in range(LANES)]
            upper = _shuffled(builder, sums, sums, lanes)
            sums = builder.fadd(sums, upper)
        return builder.extract_element(sums, ir.Constant(ir.IntType(32), 0))

    return types.float64(_block), code


def _shuffled(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    """Pick lanes of a (0 to 7) and b (8 to 15)."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes)
    return builder.shuffle_vector(a, b, mask)


# Lanes of two blocks whose sums are pairs, then fours, then eights of the numbers of each.
_HALVES = (
    ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),
    ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
)


@intrinsic
def totals(typing_context, a, b, c, d, e, f, g, h):
    """Return the block of the sums of eight blocks: a third of the work of eight `total`."""

    def code(context, builder, signature, arguments):
        blocks = list(arguments)
        for left, right in _HALVES:
            pairs = zip(blocks[::2], blocks[1::2], strict=True)
            blocks = [
                builder.fadd(
                    _shuffled(builder, one, two, left), _shuffled(builder, one, two, right)
                )
                for one, two in pairs
            ]
        return blocks[0]

    return _block(*[_block] * LANES), code


@intrinsic
def running(typing_context, a):
    """Return the sums of the first one, two, ... eight numbers."""

    def code(context, builder, signature, arguments):
        (sums,) = arguments
        for shift in (1, 2, 4):
            lanes = [LANES] * shift + list(range(LANES - shift))
            sums = builder.fadd(sums, _shuffled(builder, sums, _constant(0.0), lanes))
        return sums

    return _block(_block), code


@intrinsic
def shifted(typing_context, a, b):
    """Return the last number of a and the first seven of b."""

    def code(context, builder, signature, arguments):
        a, b = arguments
        return _shuffled(builder, a, b, list(range(LANES - 1, 2 * LANES - 1)))

    return _block(_block, _block), code


@intrinsic
def last(typing_context, a):
    """Eight times the last number."""

    def code(context, builder, signature, arguments):
        (block,) = arguments
        return _shuffled(builder, block, block, [LANES - 1] * LANES)

    return _block(_block), code


@intrinsic
def lanes(typing_context, a):
    """Return eight blocks, each eight times one of the numbers."""

    def code(context, builder, signature, arguments):
        (block,) = arguments
        values = [_shuffled(builder, block, block, [k] * LANES) for k in range(LANES)]
        return context.make_tuple(builder, signature.return_type, values)

    return containers.UniTuple(_block, LANES)(_block), code


@intrinsic
def first(typing_context, a):
    """The first of the eight numbers."""

    def code(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), 0))

    return types.float64(_block), code


def _polynomial(builder: Any, coefficients: list[float], x: Any) -> Any:
    """Sum of coefficients[i] x^i."""
    terms = [_constant(value) for value in coefficients]
    while len(terms) > 1:  # pairs, then pairs of pairs: a short chain of operations
        if len(terms) % 2:
            terms.append(_constant(0.0))
        terms = [
            _call(builder, "fmuladd", high, x, low)
            for low, high in zip(terms[::2], terms[1::2], strict=True)
        ]
        x = builder.fmul(x, x)
    (value,) = terms
    return value


_LARGEST = 708.0  # exp(-708) is the last before subnormal numbers, which are slow: zero after it
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 with its last bits zero: n _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10


@intrinsic
def exp_minus(typing_context, x):
    """exp(-x) for x >= 0, to the last bit or two; exactly 0 beyond 708, and for NaN.

    exp(-x) = 2^-n exp(r), n whole, r = n ln 2 - x, |r| <= ln(2) / 2, and the Taylor series of
    exp(r) to the 13th power.
    """

    def code(context, builder, signature, arguments):
        (x,) = arguments
        n = _call(builder, "fmuladd", x, _constant(1.0 / math.log(2.0)), _constant(0.5))
        inside = builder.fcmp_ordered("<", x, _constant(_LARGEST))
        n = builder.select(inside, _call(builder, "floor", n), _constant(0.0))
        r = builder.fsub(builder.fmul(n, _constant(_LN2_HIGH)), x)
        r = _call(builder, "fmuladd", n, _constant(_LN2_LOW), r)
        p = _polynomial(builder, [1.0 / math.factorial(power) for power in range(14)], r)
        integers = ir.VectorType(ir.IntType(64), LANES)
        halves = ir.VectorType(ir.IntType(32), LANES)
        exponent = builder.sext(builder.fptosi(n, halves), integers)
        exponent = builder.sub(ir.Constant(integers, [1023] * LANES), exponent)
        scale = builder.bitcast(builder.shl(exponent, ir.Constant(integers, [52] * LANES)), _vector)
        return builder.select(inside, builder.fmul(p, scale), _constant(0.0))

    return _block(_block), code


_FARTHEST = 5e5  # in n pi/2 of a larger angle, n times the first part is no longer exact
_QUARTER_TURN = (  # pi / 2 in parts of 33, 33 and 53 bits
    1.57079632673412561417e00,
    6.07710050630396597660e-11,
    2.02226624879595063154e-21,
)


@intrinsic
def cos_sin(typing_context, x):
    """(cos x, sin x), to a unit or two of the last place; (0, 0) for infinities and NaN.

    x = n pi/2 + r, n whole, |r| <= pi/4, and the Taylor series of cos(r) and sin(r) to the 16th
    and 17th power; they change places and signs with n mod 4. A block with an angle beyond 5e5
    goes to the mathematical library, number by number.
    """

    def code(context, builder, signature, arguments):
        (x,) = arguments
        size = _call(builder, "fabs", x)
        near = builder.fcmp_ordered("<=", size, _constant(_FARTHEST))
        bits = builder.bitcast(near, ir.IntType(LANES))
        all_near = builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))
        with builder.if_else(all_near, likely=True) as (here, there):
            with here:
                cos_near, sin_near = _cos_sin_near(builder, x)
                from_here = builder.block
            with there:
                known = builder.fcmp_ordered("<=", size, _constant(sys.float_info.max))
                angle = builder.select(known, x, _constant(0.0))
                cos_far, sin_far = _call(builder, "cos", angle), _call(builder, "sin", angle)
                cos_far = builder.select(known, cos_far, _constant(0.0))
                from_there = builder.block
        values = []
        for near, far in ((cos_near, cos_far), (sin_near, sin_far)):
            value = builder.phi(_vector)
            value.add_incoming(near, from_here)
            value.add_incoming(far, from_there)
            values.append(value)
        return context.make_tuple(builder, signature.return_type, values)

    return containers.UniTuple(_block, 2)(_block), code


def _cos_sin_near(builder: Any, x: Any) -> tuple[Any, Any]:
    integers = ir.VectorType(ir.IntType(64), LANES)

    def every(value: int) -> ir.Constant:
        return ir.Constant(integers, [value] * LANES)

    n = _call(builder, "fmuladd", x, _constant(2.0 / math.pi), _constant(0.5))
    n = _call(builder, "floor", n)
    r = x
    for part in _QUARTER_TURN:  # `fmuladd`, which fast-math does not turn into n (pi / 2)
        r = _call(builder, "fmuladd", n, _constant(-part), r)
    square = builder.fmul(r, r)
    series = [(-1.0) ** (power // 2) / math.factorial(power) for power in range(18)]
    cos_r = _call(builder, "fmuladd", square, _constant(-0.5), _constant(1.0))
    rest = _polynomial(builder, series[4::2], square)
    cos_r = _call(builder, "fmuladd", builder.fmul(square, square), rest, cos_r)
    sin_r = _polynomial(builder, series[3::2], square)
    sin_r = _call(builder, "fmuladd", builder.fmul(square, r), sin_r, r)
    halves = ir.VectorType(ir.IntType(32), LANES)
    quadrant = builder.sext(builder.fptosi(n, halves), integers)
    odd = builder.icmp_signed("!=", builder.and_(quadrant, every(1)), every(0))
    values = []
    for even_one, odd_one, turns in ((cos_r, sin_r, 1), (sin_r, cos_r, 0)):
        value = builder.bitcast(builder.select(odd, odd_one, even_one), integers)
        turned = builder.and_(builder.add(quadrant, every(turns)), every(2))
        value = builder.xor(value, builder.shl(turned, every(62)))  # the sign
        values.append(builder.bitcast(value, _vector))
    return values[0], values[1]


if not JIT:

    def load(array, at):
        return array.reshape(-1)[at : at + LANES].copy()

    def store(block, array, at):
        array.reshape(-1)[at : at + LANES] = block

    def splat(number):
        return np.full(LANES, number)

    plus, minus, times, divide = np.add, np.subtract, np.multiply, np.divide

    def plus_positive(a, b):
        return a + np.where(b > 0.0, b, 0.0)

    def fma(a, b, c):
        return a * b + c

    def absolute(a):
        return np.abs(a)

    def totals(*blocks):
        return np.sum(blocks, axis=1)

    def running(a):
        return np.cumsum(a)

    def shifted(a, b):
        return np.concatenate([a[-1:], b[:-1]])

    def last(a):
        return np.full(LANES, a[-1])

    def lanes(a):
        return tuple(np.full(LANES, number) for number in a)

    def first(a):
        return float(a[0])

    def total(a):
        return float(np.sum(a))

    def exp_minus(x):
        return np.where(x < _LARGEST, np.exp(-np.minimum(x, _LARGEST)), 0.0)

    def cos_sin(x):
        known = np.abs(x) <= sys.float_info.max
        angle = np.where(known, x, 0.0)
        return np.where(known, np.cos(angle), 0.0), np.sin(angle)
