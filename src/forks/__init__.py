"""Online kernel learning: one pass over a stream, bounded memory, microseconds per example."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forks.estimators import (
        FORKSClassifier,
        FORKSRegressor,
        KernelFeatures,
        LabelRunsWarning,
        MendWarning,
        OnlineKernelClassifier,
        OnlineKernelRegressor,
        load,
        merge,
    )
    from forks.files import ModelFileError
    from forks.linalg import SJLT, TISVD

__version__ = "0.2.0.dev0"

__all__ = [
    "SJLT",
    "TISVD",
    "FORKSClassifier",
    "FORKSRegressor",
    "KernelFeatures",
    "LabelRunsWarning",
    "MendWarning",
    "ModelFileError",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "load",
    "merge",
]

# Names are looked up when they are first used: scikit-learn and numba take a second or two to
# import, which `import forks` and `forks --help` need not wait for.
_HOMES = {
    "SJLT": "forks.linalg",
    "TISVD": "forks.linalg",
    "ModelFileError": "forks.files",
    **dict.fromkeys(
        (
            "FORKSClassifier",
            "FORKSRegressor",
            "KernelFeatures",
            "LabelRunsWarning",
            "MendWarning",
            "OnlineKernelClassifier",
            "OnlineKernelRegressor",
            "load",
            "merge",
        ),
        "forks.estimators",
    ),
}
_ROOMS = {
    "distributed",
    "estimators",
    "evaluate",
    "features",
    "files",
    "kernels",
    "keyed",
    "learners",
    "linalg",
    "losses",
    "streams",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"forks.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'forks' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_ROOMS})
