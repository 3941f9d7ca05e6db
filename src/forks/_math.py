"""The exponential, in a form that loops over it vectorise."""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from forks._jit import JIT, exact

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 with its last 21 bits zero: n * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_LARGEST = 708.0  # exp(-708) is the last before subnormal numbers, which are slow: zero after it


@intrinsic
def _float_of_bits(typing_context, bits):
    def bitcast(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), bitcast


def _exp_minus_compiled(x):
    # exp(-x) = 2^-n exp(-r), n whole, |r| <= ln(2) / 2; Taylor to the 13th power of r is exact to
    # the last bit or two. No branches and no library call, so the loop around it vectorises.
    n = np.floor(min(x, _LARGEST) * _LOG2_E + 0.5)
    r = n * _LN2_HIGH - x + n * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    scale = _float_of_bits(np.int64(1023 - np.int32(n)) << 52)
    return p * scale if x < _LARGEST else 0.0


def _exp_minus_plain(x):
    return math.exp(-x) if x < _LARGEST else 0.0


exp_minus = exact(_exp_minus_compiled) if JIT else _exp_minus_plain
exp_minus.__doc__ = "exp(-x) for x >= 0; exactly 0 beyond 708, and for NaN."
