"""Search in one consumer's own listing: SQLite's full-text index, ranked by BM25 (SPEC 12.4).

What is hidden is not in the index, so it has no part in counts, in the rarity of words, or in the order.
"""

import re
import sqlite3
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from remit._model.descriptor import Descriptor

_TABLE: Final = "CREATE VIRTUAL TABLE listing USING fts5(name, title, text, fields, tokenize='porter unicode61')"
_INSERT: Final = "INSERT INTO listing(rowid, name, title, text, fields) VALUES (?, ?, ?, ?, ?)"
_WEIGHTS: Final = "8.0, 4.0, 2.0, 1.0"
"""What a word counts in name, title, description and fields: names are chosen with more care than sentences."""

_MATCH: Final = f"SELECT rowid FROM listing WHERE listing MATCH ? ORDER BY bm25(listing, {_WEIGHTS}), rowid"
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASCII_MARKS: Final = dict.fromkeys((code for code in range(128) if not chr(code).isalnum()), " ")
_PREFIX_FROM: Final = 3
"""Letters a word must have to find longer ones, too."""


class Index:
    """The searchable texts of some capabilities; reading it needs no lock, no file and no other thread.

    A Python whose SQLite has no FTS5 is a RuntimeError.
    """

    __slots__ = ("__weakref__", "_connection", "of")

    def __init__(self, descriptors: Sequence[Descriptor]) -> None:
        self.of = tuple(descriptors)
        # The finalizer may run in whatever thread collects garbage.
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        try:
            self._connection.execute(_TABLE)
        except sqlite3.OperationalError as problem:
            raise RuntimeError("the SQLite of this Python has no FTS5, which search in a listing needs") from problem
        self._connection.execute("BEGIN")
        self._connection.executemany(_INSERT, (_row(at, one) for at, one in enumerate(self.of)))

    def find(self, query: str) -> list[int]:
        """The positions of the capabilities that have a word of the query, best first; equal ones in their order."""
        words = _words(query)
        if not words:
            return []
        wanted = " OR ".join(f'"{word}"*' if len(word) >= _PREFIX_FROM else f'"{word}"' for word in words)
        return [int(row[0]) for row in self._connection.execute(_MATCH, (wanted,))]


def _row(at: int, descriptor: Descriptor) -> tuple[int, str, str, str, str]:
    names = (descriptor.id, descriptor.component, *descriptor.tags)
    return (
        at,
        " ".join(word for name in names for word in _words(name)),
        descriptor.title or "",
        descriptor.description,
        " ".join(_fields(descriptor.input_schema)),
    )


def _fields(schema: Mapping[str, object]) -> Iterable[str]:
    properties = schema.get("properties")
    for name, field in properties.items() if isinstance(properties, Mapping) else ():
        yield from _words(str(name))
        told = field.get("description") if isinstance(field, Mapping) else None
        if isinstance(told, str):
            yield told


def _words(text: str) -> list[str]:
    """Words as people write them: `selectRows` and `device_ids` are two each; nothing is left that FTS5 would read."""
    plain = "".join(character if character.isprintable() else " " for character in _HUMP.sub(" ", text))
    return plain.translate(_ASCII_MARKS).split()
