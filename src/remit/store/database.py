"""What a store needs of a database: statements, transactions, and errors that an operator can do something about."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Protocol

from remit.store.failures import StoreError

Value = str | int | float | None


class Lasts(IntEnum):
    """What a question needs: nothing kept, kept as long as the machine runs, kept whatever happens to it."""

    READS = 0
    LOOSELY = 1
    SAFELY = 2


class Answer(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows."""
        ...


class Database(Protocol):
    """Where statements go; `?` stands for a value, in every dialect."""

    def execute(self, statement: str, values: Sequence[Value] = (), /) -> Answer:
        """Do it."""
        ...


class Engine(Protocol):
    """One connection, worked by one thread."""

    @property
    def name(self) -> str:
        """What an operator calls it."""
        ...

    @property
    def db(self) -> Database:
        """Where statements go."""
        ...

    def begin(self, lasts: Lasts) -> None:
        """Begin a transaction; with anything to be kept, nobody else's runs beside it."""
        ...

    def commit(self) -> None:
        """End it, and keep it as `begin` said."""
        ...

    def rollback(self) -> None:
        """End it, whatever state it is in, and keep nothing; never raises."""
        ...

    def check_version(self) -> None:
        """StoreVersion where this program and the schema do not go together; inside a transaction."""
        ...

    def told(self, problem: Exception) -> StoreError | None:
        """The problem in the operator's terms; None for what is none of the database."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Owners(Protocol):
    """Which processes live."""

    def lives(self, id: str) -> bool:
        """Whether the process that is this owner has not ended."""
        ...

    def gone(self, id: str) -> None:
        """What it left has been brought to its end."""
        ...


@contextmanager
def writing(engine: Engine) -> Iterator[Database]:
    """All of it or nothing, kept when this ends."""
    try:
        engine.begin(Lasts.SAFELY)
        yield engine.db
        engine.commit()
    except BaseException:
        engine.rollback()
        raise
