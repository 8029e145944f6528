"""A PostgreSQL for the tests here, one a worker."""

from tests.postgres_server import postgres

__all__ = ["postgres"]
