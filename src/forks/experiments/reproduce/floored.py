"""The Gaussian kernel with small values taken as zero: a control for what single precision does.

On raw features most rows of some data sets are far from all others. In double precision the score
of such a row is a sum of tiny numbers, and its sign an answer like any other; in single precision
what is small beside 1 is lost, the score is 0, and the answer is +1.
"""

from typing import NamedTuple

from forks.kernels import Gaussian, kernel_row

SINGLE = 1.2e-7  # spacing of single precision at 1


class FlooredGaussian(NamedTuple):
    """The Gaussian kernel's value where it is at least `floor`, 0 elsewhere."""

    bandwidth: float = 1.0
    floor: float = SINGLE


@kernel_row.register(FlooredGaussian)
def _floored_row(kernel, x, points, n, out):
    kernel_row(Gaussian(kernel.bandwidth), x, points, n, out)
    for i in range(n):
        if out[i] < kernel.floor:
            out[i] = 0.0
