"""The machine: compile, store, call. The door for authors of kernels, losses, parts and learners.

- *Compile*: `njit` and `apart` for code inside compiled code, `entry` for what Python calls,
  `either` for formulas that both call;
  `jit_dispatch` declares a verb with a body per type, `by_form` one with a body for dense and one
  for sparse rows.
- *Store*: a state is a NamedTuple of arrays (`Vector`, `Matrix`, ...) that declare their axes
  (`forks.engine.axes`): views of a flat `Memory`. `Points` are kept rows.
- *Call*: a `Learner` names its rule, state and scratch, and registers `score` and `step`; an
  `Engine` drives it.

Loops over eight numbers at a time are in `forks.engine.blocks`, random draws of compiled code in
`forks.engine.random`, checks of arguments in `forks.engine.checks`. Only this room knows numba.
"""

from forks.engine.axes import axis_length, shapes_of
from forks.engine.compile import JIT, apart, either, entry, finite, njit
from forks.engine.driver import Engine
from forks.engine.group import EngineGroup
from forks.engine.learner import Growth, Learner, Limit, Shapes
from forks.engine.memory import Memory, allocate, viewer
from forks.engine.points import (
    Points,
    absolute_distances,
    copy_point,
    dense_points,
    inner_products,
    squared_distances,
    store,
    store_point,
    store_points,
)
from forks.engine.protocol import (
    EVENT,
    MANY,
    MENDS,
    RESUME,
    attach,
    score,
    step,
    workspace,
)
from forks.engine.rows import SparseRow, SparseRows, dense_row, rows_from, take
from forks.engine.threads import one_thread
from forks.engine.types import Counter, Cube, Matrix, Vector
from forks.engine.verbs import by_form, checked, jit_dispatch

__all__ = [
    "EVENT",
    "JIT",
    "MANY",
    "MENDS",
    "RESUME",
    "Counter",
    "Cube",
    "Engine",
    "EngineGroup",
    "Growth",
    "Learner",
    "Limit",
    "Matrix",
    "Memory",
    "Points",
    "Shapes",
    "SparseRow",
    "SparseRows",
    "Vector",
    "absolute_distances",
    "allocate",
    "apart",
    "attach",
    "axis_length",
    "by_form",
    "checked",
    "copy_point",
    "dense_points",
    "dense_row",
    "either",
    "entry",
    "finite",
    "inner_products",
    "jit_dispatch",
    "njit",
    "one_thread",
    "rows_from",
    "score",
    "shapes_of",
    "squared_distances",
    "step",
    "store",
    "store_point",
    "store_points",
    "take",
    "viewer",
    "workspace",
]
