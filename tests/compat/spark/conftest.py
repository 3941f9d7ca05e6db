"""A local Spark, if it is installed: `make spark`."""

import os
import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # of workers
    from spark_sessions import session

    made = session()
    yield made
    made.stop()
