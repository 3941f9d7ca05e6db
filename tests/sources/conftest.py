"""Brokers that the tests of sources share."""

import pytest
from brokers import Kafka, Nats


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory):
    server = Nats(tmp_path_factory.mktemp("nats"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kafka_cluster():
    cluster = Kafka()
    yield cluster
    cluster.stop()


@pytest.fixture(params=["nats", "kafka"])
def broker(request):
    return request.getfixturevalue("nats_server" if request.param == "nats" else "kafka_cluster")


@pytest.fixture
def stream(request):
    """Return a name that no other test has."""
    return "".join(c if c.isalnum() else "_" for c in request.node.name)
