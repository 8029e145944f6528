"""Rows of a dataclass as rows of a table: one column a field, a tuple as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, get_type_hints

from remit.store.database import Database, Value

R = TypeVar("R")


class Table(Generic[R]):
    """The table `name`, whose columns are the fields of `row`; with `owned` it says which process wrote a row last."""

    __slots__ = ("_columns", "_lists", "_owned", "_row", "name", "put")

    def __init__(self, name: str, row: type[R], key: Sequence[str] = ("id",), *, owned: bool = False) -> None:
        hints = get_type_hints(row)
        self._row = row
        self._columns = [field.name for field in fields(row)]  # type: ignore[arg-type]  # R is a dataclass
        self._lists = frozenset(column for column in self._columns if hints[column] == tuple[str, ...])
        self._owned = owned
        self.name = name
        names = [*self._columns, *(["owner"] if owned else [])]
        columns, places = ", ".join(f'"{column}"' for column in names), ", ".join("?" for _ in names)
        changed = ", ".join(f'"{column}" = excluded."{column}"' for column in names if column not in key)
        self.put = (
            f'INSERT INTO "{name}" ({columns}) VALUES ({places})'
            f" ON CONFLICT ({', '.join(map(quoted, key))}) DO UPDATE SET {changed}"
        )
        """Keeps a row in place of what had its key."""

    def values(self, row: R, owner: str | None = None) -> list[Value]:
        """What `put` takes."""
        values = [
            json.dumps(getattr(row, column)) if column in self._lists else getattr(row, column)
            for column in self._columns
        ]
        return [*values, owner] if self._owned else values

    def select(self, db: Database, where: str = "", given: Iterable[Value] = ()) -> list[R]:
        """The rows that fit; `where` is the rest of the statement."""
        columns = ", ".join(f'"{column}"' for column in self._columns)
        found = db.execute(f'SELECT {columns} FROM "{self.name}" {where}', tuple(given))
        return [self.row(values) for values in found]

    def row(self, values: Sequence[Any]) -> R:
        """A row of its columns."""
        given = {
            column: tuple(json.loads(value)) if column in self._lists else value
            for column, value in zip(self._columns, values, strict=True)
        }
        return self._row(**given)


def quoted(name: str) -> str:
    """A column as a statement names it."""
    return f'"{name}"'
