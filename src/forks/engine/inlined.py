"""Compilation of functions that only compiled code calls: they are inlined there.

numba makes machine code of every function, and two wrappers for calls from Python and from C.
Nobody calls these here, and they take a third of the time of a compilation.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class _InlinedLibrary(JITCodeLibrary):
    """Code in the compiler's own form, for other libraries to take in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(NativeLowering):
    _name = "forks_inlined_lowering"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = _InlinedLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made = state["cr"]
        module, name = made.fndesc.lookup_module(), made.fndesc.qualname
        never_called = _dynfunc.make_function(module, name, "", 0, made.env, (state.library,))
        context.insert_user_function(never_called, made.fndesc, [state.library])
        state["cr"] = made._replace(cfunc=never_called)
        return True


class _InlinedCompiler(CompilerBase):
    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (_InlinedLowering if step is NativeLowering else step, what)
            for step, what in manager.passes
        ]
        manager.finalize()
        return [manager]


INLINED = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _InlinedCompiler,
}
