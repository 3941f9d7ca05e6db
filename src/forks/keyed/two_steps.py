"""Blocks of rows in two steps, the second of which runs on a core of its own.

The common model needs nothing of the corrections, and these only its answers: while the
corrections of a block are made, the common model is at the next one. Results are those of one
thread, bit for bit.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def blocks_of(n_rows: int, size: int) -> list[slice]:
    """Return the blocks of so many rows."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def in_two_steps(
    blocks: list[slice], first: Callable[[slice], Any], second: Callable[[slice, Any], None]
) -> None:
    """Call `first` with each block, and `second` with the block and what came of it, in order."""
    if len(blocks) < 2:
        for block in blocks:
            second(block, first(block))
        return
    with ThreadPoolExecutor(1, "forks-keyed") as other:
        at_work: Future[None] | None = None
        for block in blocks:
            made = first(block)
            if at_work is not None:
                at_work.result()
            at_work = other.submit(second, block, made)
        assert at_work is not None
        at_work.result()
