"""Small matrices: threads of BLAS would wait for each other beside a second worker."""

import pytest

from forks.engine import one_thread


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield
