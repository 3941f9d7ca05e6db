"""The service does what its OpenAPI document says, whatever a client makes of that."""

import signal

import pytest
from hypothesis import HealthCheck, settings
from kills import free_port, started

from forks.serve.openapi import document

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.specs.openapi import checks  # noqa: E402

SCHEMA = schemathesis.openapi.from_dict(document()).exclude(path="/v1/live")  # has no end
NOT_ASKED = [
    checks.positive_data_acceptance,  # a schema cannot say that there are as many labels as rows
    checks.allow_header_conformance,  # OPTIONS is answered by Litestar, for one of two handlers
]
PLENTY = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    port = free_port()
    service, _ = started(tmp_path_factory.mktemp("described"), port)
    yield f"http://127.0.0.1:{port}"
    service.terminate()
    assert service.wait(60) in (0, -signal.SIGTERM)


def check(case, url):
    case.call_and_validate(base_url=url, excluded_checks=NOT_ASKED)


@SCHEMA.parametrize()
@settings(PLENTY, max_examples=8)
def test_answers_are_as_described(case, url):
    check(case, url)


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(PLENTY, max_examples=2_000)
def test_many_answers_are_as_described(case, url):
    check(case, url)
