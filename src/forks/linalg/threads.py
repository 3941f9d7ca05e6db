"""BLAS with one thread: events are small, and waking threads for them costs more than it gives."""

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks for the libraries that are loaded: once is enough


def one_thread() -> Any:
    """Context in which BLAS and LAPACK use one thread."""
    return _controller().limit(limits=1, user_api="blas")
