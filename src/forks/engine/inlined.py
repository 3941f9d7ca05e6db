"""How numba compiles what only compiled code calls: code in the compiler's form, for its callers.

numba makes machine code of every function, and wrappers for calls from Python and from C. Code
that is inlined wherever it is called needs none of them: without, the first call of a learner
takes a quarter less. Optimising each function before its callers, who optimise it again, is left
out too for `INNER` functions, but not for the bodies of kernels, losses and parts (`BODY`), whose
loops come out faster if that is done.

References are not counted, neither here nor in what Python calls (`ENTRY`): compiled code of this
package allocates no arrays and returns none to Python, who holds its arguments meanwhile. Counts
of the arrays in a state were two fifths of the code that the compiler had to read. They stay in
functions from outside, a user's kernel say, which may make arrays of their own, and in those that
return an array, which may be called from there. Views of a memory have no owner to be counted.
"""

from typing import Any

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

_PACKAGE, _VIEWS = "forks.", "forks.engine.memory"


def _counts(module: str, returned: Any) -> bool:
    """Return whether a function is to count references."""
    return not module.startswith(_PACKAGE) or (module != _VIEWS and _has_arrays(returned))


def _has_arrays(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(map(_has_arrays, kind))
    return isinstance(kind, types.Array)


class _Body(JITCodeLibrary):
    """Code that is optimised, and goes no further."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Inner(_Body):
    """Code that its callers optimise."""

    def _optimize_final_module(self) -> None:
        pass


@register_pass(mutates_CFG=True, analysis_only=False)
class _BodyLowering(NativeLowering):
    _name = "forks_body_lowering"
    library = _Body

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        if not _counts(state.func_id.func.__module__ or "", state.return_type):
            state.targetctx = context.subtarget(enable_nrt=False)
        state.library = self.library(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.targetctx = context
        # numba finds the code of a function by an object that is its own, and wants a built-in
        # function: this one has no address to call.
        lowered = state["cr"]
        module, name = lowered.fndesc.lookup_module(), lowered.fndesc.qualname
        key = _dynfunc.make_function(module, name, "", 0, lowered.env, (state.library,))
        context.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_BodyLowering):
    _name = "forks_inner_lowering"
    library = _Inner


class _BodyCompiler(CompilerBase):
    lowering: type[NativeLowering] = _BodyLowering

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self.lowering if made is NativeLowering else made, what)
            for made, what in manager.passes
        ]
        manager.finalize()
        return [manager]


class _InnerCompiler(_BodyCompiler):
    lowering = _InnerLowering


# Options of `numba.njit`. With `_nrt` False, numba would refuse functions that return views.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": True}
BODY = dict(INNER)
OUTSIDE: dict[str, Any] = {"no_cfunc_wrapper": True}  # entries that may make arrays
ENTRY = dict(OUTSIDE)
_STEPS = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
if "no_compile" in Flags.options and all(hasattr(JITCodeLibrary, step) for step in _STEPS):
    INNER["pipeline_class"], BODY["pipeline_class"] = _InnerCompiler, _BodyCompiler
    ENTRY["_nrt"] = False
