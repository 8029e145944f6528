"""What a process that has ended left behind, and what has had its time (SPEC 15.1, 15.7)."""

from datetime import timedelta
from typing import Final

from remit._base.clock import Clock
from remit._model.handoff_view import HandoffStatus
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit._model.standing import StandingEnd
from remit.store.database import Database, Engine, Owners, writing

KEPT: Final = timedelta(days=30)
"""How long requests, standing approvals and handoffs are kept after they were asked for (SPEC 15.7)."""

UNUSED: Final = timedelta(hours=1)
WHY: Final = "the process that asked has ended"

_OPEN: Final = (ConfirmationStatus.PENDING.value, ConfirmationStatus.APPROVED.value)


def recover(engine: Engine, owners: Owners, own: str, clock: Clock) -> bool:
    """End what processes that have ended left open, each once; was there any?

    Requests that were pending, or approved and not spent, are cancelled: their surfaces have gone, and nobody runs them
    any more. One that was spent stays so, and its outcome stays unknown unless it was settled. Standing approvals end
    as with an unmount. Handoffs, views and calls have no owner from now on, so that the next one finds them.
    """
    found = engine.db.execute('SELECT "id" FROM "owners" WHERE "id" <> ?', (own,)).fetchall()
    ended = [id for (id,) in found if not owners.lives(id)]
    if not ended:
        return False
    with writing(engine) as db:
        for id in ended:
            lose(db, id, clock.now().isoformat())
    for id in ended:
        owners.gone(id)
    return True


def lose(db: Database, owner: str, now: str) -> None:
    """The rows of an owner that has ended, inside a transaction."""
    db.execute(
        'UPDATE "confirmations" SET "status" = ?, "cause" = ?, "reason" = ? WHERE "owner" = ? AND "status" IN (?, ?)',
        (ConfirmationStatus.CANCELLED.value, CancelCause.STOPPING.value, WHY, owner, *_OPEN),
    )
    db.execute(
        'UPDATE "standing" SET "ended" = ? WHERE "owner" = ? AND "ended" IS NULL', (StandingEnd.UNMOUNTED.value, owner)
    )
    # Whoever was there was there until now: nobody knows better.
    db.execute('UPDATE "sessions" SET "seen_at" = ? WHERE "owner" = ? AND "seen_at" IS NULL', (now, owner))
    for table in ("confirmations", "standing", "handoffs", "sessions", "calls"):
        db.execute(f'UPDATE "{table}" SET "owner" = NULL WHERE "owner" = ?', (owner,))
    db.execute('DELETE FROM "owners" WHERE "id" = ?', (owner,))


def forget(engine: Engine, clock: Clock) -> None:
    """Drop what has had its time; what is open is never dropped (SPEC 15.3, 15.7)."""
    now = clock.now()
    old, said = (now - KEPT).isoformat(), now.isoformat()
    with writing(engine) as db:
        db.execute('DELETE FROM "confirmations" WHERE "created_at" < ? AND "status" NOT IN (?, ?)', (old, *_OPEN))
        db.execute('DELETE FROM "standing" WHERE "given_at" < ? AND "ended" IS NOT NULL', (old,))
        db.execute(
            'UPDATE "handoffs" SET "status" = ? WHERE "owner" IS NULL AND "status" = ? AND "expires_at" < ?',
            (HandoffStatus.EXPIRED.value, HandoffStatus.PENDING.value, said),
        )
        db.execute(
            'DELETE FROM "handoffs" WHERE "created_at" < ? AND "status" <> ?', (old, HandoffStatus.PENDING.value)
        )
        db.execute('DELETE FROM "sessions" WHERE "owner" IS NULL AND "until" < ?', (said,))
        db.execute('DELETE FROM "delegations" WHERE "until" < ?', (said,))
        db.execute('DELETE FROM "revocations" WHERE "until" IS NOT NULL AND "until" < ?', (said,))
        db.execute('DELETE FROM "calls" WHERE "until" < ?', (said,))
        db.execute('DELETE FROM "meters" WHERE "used_at" < ?', ((now - UNUSED).timestamp(),))
