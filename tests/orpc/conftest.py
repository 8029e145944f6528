"""The real oRPC servers of these tests, started once a process and version."""

from collections.abc import Iterator

import pytest

from tests.conftest import missing
from tests.orpc.backend import Backend, missing_for, serving


@pytest.fixture(scope="session", params=["1.x", "2.0-beta"])
def orpc(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """A real oRPC server of either version. Without Node the test is skipped, but never in CI."""
    if (lacks := missing_for(request.param)) is not None:
        missing(lacks)
    with serving(request.param) as backend:
        yield backend
