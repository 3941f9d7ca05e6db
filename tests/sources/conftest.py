"""Brokers that the tests of sources share."""

from importlib.util import find_spec

import pytest

if not all(map(find_spec, ("nats", "confluent_kafka", "litestar"))):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory):
    from brokers import Nats

    server = Nats(tmp_path_factory.mktemp("nats"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kafka_cluster():
    from brokers import Kafka

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
