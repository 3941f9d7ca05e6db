"""A local Ray, if it is installed."""

import os
import sys

import pytest


@pytest.fixture(scope="session")
def ray():
    ray = pytest.importorskip("ray")
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # that of the tests, too
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": paths},
    )
    yield ray
    ray.shutdown()
