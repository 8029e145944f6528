"""What a process that has ended left behind, and what has had its time (SPEC 15.1, 15.7)."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from remit._base.clock import Clock
from remit._model.handoff_view import HandoffStatus
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit._model.standing import StandingEnd
from remit.store.owners import file_of, lives, remove

KEPT: Final = timedelta(days=30)
"""How long requests, standing approvals and handoffs are kept after they were asked for (SPEC 15.7)."""

UNUSED: Final = timedelta(hours=1)
WHY: Final = "the process that asked has ended"

_OPEN: Final = (ConfirmationStatus.PENDING.value, ConfirmationStatus.APPROVED.value)


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, written to the disk at the end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def recover(connection: sqlite3.Connection, store: Path, own: str, clock: Clock) -> bool:
    """End what processes that have ended left open, each once; was there any?

    Requests that were pending, or approved and not spent, are cancelled: their surfaces have gone, and nobody runs them
    any more. One that was spent stays so, and its outcome stays unknown unless it was settled. Standing approvals end
    as with an unmount. Handoffs, views and calls have no owner from now on, so that the next one finds them.
    """
    found = connection.execute('SELECT "id" FROM "owners" WHERE "id" <> ?', (own,)).fetchall()
    ended = [id for (id,) in found if not lives(store, id)]
    if not ended:
        return False
    with writing(connection):
        for id in ended:
            lose(connection, id, clock.now().isoformat())
    for id in ended:
        remove(file_of(store, id))
    return True


def lose(connection: sqlite3.Connection, owner: str, now: str) -> None:
    """The rows of an owner that has ended, inside a transaction."""
    connection.execute(
        'UPDATE "confirmations" SET "status" = ?, "cause" = ?, "reason" = ? WHERE "owner" = ? AND "status" IN (?, ?)',
        (ConfirmationStatus.CANCELLED.value, CancelCause.STOPPING.value, WHY, owner, *_OPEN),
    )
    connection.execute(
        'UPDATE "standing" SET "ended" = ? WHERE "owner" = ? AND "ended" IS NULL', (StandingEnd.UNMOUNTED.value, owner)
    )
    # Whoever was there was there until now: nobody knows better.
    connection.execute('UPDATE "sessions" SET "seen_at" = ? WHERE "owner" = ? AND "seen_at" IS NULL', (now, owner))
    for table in ("confirmations", "standing", "handoffs", "sessions", "calls"):
        connection.execute(f'UPDATE "{table}" SET "owner" = NULL WHERE "owner" = ?', (owner,))
    connection.execute('DELETE FROM "owners" WHERE "id" = ?', (owner,))


def forget(connection: sqlite3.Connection, clock: Clock) -> None:
    """Drop what has had its time; what is open is never dropped (SPEC 15.3, 15.7)."""
    now = clock.now()
    old, said = (now - KEPT).isoformat(), now.isoformat()
    with writing(connection):
        connection.execute(
            'DELETE FROM "confirmations" WHERE "created_at" < ? AND "status" NOT IN (?, ?)', (old, *_OPEN)
        )
        connection.execute('DELETE FROM "standing" WHERE "given_at" < ? AND "ended" IS NOT NULL', (old,))
        connection.execute(
            'UPDATE "handoffs" SET "status" = ? WHERE "owner" IS NULL AND "status" = ? AND "expires_at" < ?',
            (HandoffStatus.EXPIRED.value, HandoffStatus.PENDING.value, said),
        )
        connection.execute(
            'DELETE FROM "handoffs" WHERE "created_at" < ? AND "status" <> ?', (old, HandoffStatus.PENDING.value)
        )
        connection.execute('DELETE FROM "sessions" WHERE "owner" IS NULL AND "until" < ?', (said,))
        connection.execute('DELETE FROM "delegations" WHERE "until" < ?', (said,))
        connection.execute('DELETE FROM "revocations" WHERE "until" IS NOT NULL AND "until" < ?', (said,))
        connection.execute('DELETE FROM "calls" WHERE "until" < ?', (said,))
        connection.execute('DELETE FROM "meters" WHERE "used_at" < ?', ((now - UNUSED).timestamp(),))
