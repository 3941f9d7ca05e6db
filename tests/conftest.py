"""Settings for all tests."""

import signal

import pytest
from hypothesis import settings

from forks.datasets import load

# A first call compiles for seconds: hypothesis must not take that for slowness.
# `make test` asks the same each time; `make fuzz` takes the other profile and asks anew.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("fixed")

# SIGINT is ignored in background jobs of a shell script, and so it would be in all children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Skip tests marked `needs_data` where the real data sets are not."""
    try:
        load("german")
    except FileNotFoundError as missing:
        for item in items:
            if item.get_closest_marker("needs_data"):
                item.add_marker(pytest.mark.skip(reason=str(missing)))
