"""The schema of the SQLite store and its versions: forward only, by `remit migrate` (SPEC 15.6)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.store.failures import StoreVersion


@dataclass(frozen=True, slots=True)
class Step:
    """One version: what makes it of the one before, and the oldest program's version that may still work with it."""

    sql: str
    oldest: int


_FIRST: Final = """
CREATE TABLE "owners" ("id" TEXT PRIMARY KEY, "since" TEXT NOT NULL) STRICT;
CREATE TABLE "confirmations" (
    "id" TEXT PRIMARY KEY, "surface_id" TEXT NOT NULL, "registration" TEXT NOT NULL, "capability" TEXT NOT NULL,
    "tenant" TEXT, "principal" TEXT NOT NULL, "consumer" TEXT NOT NULL, "kid" TEXT NOT NULL, "digest" TEXT NOT NULL,
    "form" TEXT NOT NULL, "approvers" TEXT NOT NULL, "created_at" TEXT NOT NULL, "decide_by" TEXT NOT NULL,
    "status" TEXT NOT NULL, "spend_by" TEXT, "cause" TEXT, "decided_by" TEXT, "reason" TEXT, "outcome" TEXT,
    "owner" TEXT
) STRICT;
CREATE INDEX "confirmations_open" ON "confirmations" ("owner", "status");
CREATE INDEX "confirmations_age" ON "confirmations" ("created_at");
CREATE TABLE "meters" ("key" TEXT PRIMARY KEY, "full_at" REAL NOT NULL, "used_at" REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE "suspensions" ("key" TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE "revocations" (
    "id" TEXT PRIMARY KEY, "at" TEXT NOT NULL, "by" TEXT NOT NULL, "why" TEXT NOT NULL, "until" TEXT, "tenant" TEXT,
    "principal" TEXT
) STRICT;
"""

_REST: Final = """
CREATE TABLE "standing" (
    "id" TEXT PRIMARY KEY, "surface_id" TEXT NOT NULL, "registration" TEXT NOT NULL, "capability" TEXT NOT NULL,
    "tenant" TEXT, "principal" TEXT NOT NULL, "consumer" TEXT NOT NULL, "confirmation" TEXT NOT NULL,
    "decided_by" TEXT NOT NULL, "pinned" TEXT NOT NULL, "free" TEXT NOT NULL, "given_at" TEXT NOT NULL,
    "until" TEXT NOT NULL, "uses_left" INTEGER NOT NULL, "ended" TEXT, "owner" TEXT
) STRICT;
CREATE TABLE "handoffs" (
    "id" TEXT PRIMARY KEY, "surface_id" TEXT NOT NULL, "capability" TEXT NOT NULL, "registration" TEXT NOT NULL,
    "instance" TEXT NOT NULL, "place" TEXT NOT NULL, "tenant" TEXT, "principal" TEXT NOT NULL, "consumer" TEXT NOT NULL,
    "consumer_id" TEXT NOT NULL, "input" TEXT NOT NULL, "withheld" TEXT NOT NULL, "digest" TEXT NOT NULL,
    "path" TEXT NOT NULL, "invocation" TEXT NOT NULL, "correlation_id" TEXT, "contract_hash" TEXT NOT NULL,
    "created_at" TEXT NOT NULL, "expires_at" TEXT NOT NULL, "status" TEXT NOT NULL, "decided_by" TEXT,
    "data" TEXT NOT NULL, "owner" TEXT
) STRICT;
CREATE TABLE "sessions" (
    "id" TEXT PRIMARY KEY, "tenant" TEXT, "principal" TEXT NOT NULL, "key" TEXT, "title" TEXT NOT NULL,
    "opened_at" TEXT NOT NULL, "seen_at" TEXT, "until" TEXT NOT NULL, "owner" TEXT
) STRICT;
CREATE TABLE "delegations" (
    "id" TEXT PRIMARY KEY, "tenant" TEXT, "principal" TEXT NOT NULL, "actors" TEXT NOT NULL, "kind" TEXT NOT NULL,
    "scope" TEXT NOT NULL, "session" TEXT, "parents" TEXT NOT NULL, "begins" TEXT NOT NULL, "until" TEXT NOT NULL
) STRICT;
CREATE TABLE "calls" (
    "id" TEXT NOT NULL, "surface_id" TEXT NOT NULL, "tenant" TEXT, "principal" TEXT NOT NULL, "consumer" TEXT NOT NULL,
    "capability" TEXT NOT NULL, "kid" TEXT NOT NULL, "fingerprint" TEXT NOT NULL, "started_at" TEXT NOT NULL,
    "until" TEXT NOT NULL, "outcome" TEXT, "owner" TEXT, PRIMARY KEY ("surface_id", "consumer", "id")
) STRICT;
CREATE INDEX "calls_of" ON "calls" ("principal", "consumer", "id");
CREATE INDEX "calls_age" ON "calls" ("until");
"""

STEPS: Final[Sequence[Step]] = (Step(_FIRST, oldest=1), Step(_REST, oldest=1))
VERSION: Final = len(STEPS)


def version_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """The version of the file, and the oldest program's version that may work with it; (0, 0) for an empty one."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'remit_schema'").fetchone() is None:
        return 0, 0
    version, oldest = connection.execute("SELECT version, oldest FROM remit_schema").fetchone()
    return int(version), int(oldest)


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing at all is in the file."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def check_version(connection: sqlite3.Connection, name: str, known: int = VERSION) -> None:
    """StoreVersion where this program and the file do not go together."""
    check_between(*version_of(connection), name, known)


def check_between(version: int, oldest: int, name: str, known: int = VERSION) -> None:
    """The same for a version that has been read."""
    if version < known:
        raise StoreVersion(f"{name} has the schema {version}, and this program needs {known}\n  do  remit migrate")
    if oldest > known:
        raise StoreVersion(
            f"{name} has the schema {version}, for programs that know {oldest} and later; this one knows {known}"
            "\n  do  update this program; it changes nothing in a file that it does not know"
        )


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> tuple[int, int]:
    """Bring a file to the last of these steps in one transaction; the version before and after.

    A newer file is left as it is. One that holds something else than a store is a StoreVersion.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version, _ = version_of(connection)
        if version == 0 and not is_empty(connection):
            raise StoreVersion("the file is a database, and no store\n  do  name another file as the state")
        if version == 0:
            connection.execute("CREATE TABLE remit_schema (version INTEGER NOT NULL, oldest INTEGER NOT NULL) STRICT")
            connection.execute("INSERT INTO remit_schema VALUES (0, 0)")
        for step in steps[version:]:
            for statement in step.sql.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
        after = max(version, len(steps))
        if after > version:
            connection.execute("UPDATE remit_schema SET version = ?, oldest = ?", (after, steps[-1].oldest))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return version, after
