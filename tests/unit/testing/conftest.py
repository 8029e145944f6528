"""The contract of the application under test, compiled once, and a harness for each test."""

from collections.abc import Iterator

import pytest

from remit import Authority
from remit.compiler import compile_app
from remit.testing import Harness
from tests.unit.testing import fleet


@pytest.fixture(scope="session")
def authority() -> Authority:
    return compile_app(fleet.__file__)


@pytest.fixture
def harness(authority: Authority) -> Iterator[Harness]:
    with Harness(authority, principal="operator") as made:
        yield made
