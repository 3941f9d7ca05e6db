"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import forks

MODULES = [
    module.name
    for module in pkgutil.walk_packages(forks.__path__, "forks.")
    if module.name.startswith(
        ("forks.distributed", "forks.estimators", "forks.evaluate", "forks.linalg", "forks.streams")
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0
