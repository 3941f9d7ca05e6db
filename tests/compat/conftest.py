"""Small matrices: threads of BLAS would wait for each other beside a second worker."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):  # `one_thread` would end with the first event of a learner
        yield
