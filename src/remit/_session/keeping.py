"""Open views as rows of the store, so that one is the same view after a restart (SPEC 11.11, 15.1)."""

from datetime import datetime, timedelta
from typing import Final

from remit._base.boundary import canonical
from remit._base.clock import Clock
from remit._base.digest import sha256_hex
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._session.session import VIEW_PREFIX, PrincipalKey, Session
from remit.store.protocol import SessionStore
from remit.store.rows import SessionRow

LONGEST: Final = timedelta(hours=24)
"""How long a view may be taken over after it was opened first, however often."""


class Keeping:
    """Writes down which views are open; a view of the same name goes on under its id when its process has ended."""

    def __init__(self, store: SessionStore, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    def name(self, principal: PrincipalKey, key: str | None) -> tuple[str, datetime, str | None]:
        """A new view, or the one of this name that an earlier process had open, within its limits.

        It is bound to the principal and its tenant; somebody else's name is another one. Away for longer than
        `limits.idle_session_s`, or opened more than a day ago, it is a new one. Returns its id, when it was opened, and
        a digest of the name.
        """
        now = self._clock.now()
        if key is None:
            return new_id(VIEW_PREFIX), now, None
        if not isinstance(key, str) or not key:
            raise TypeError(f"open_view(key=…) is the host's own name for the view, as text; not {key!r:.80}")
        digest = sha256_hex(canonical([*principal, key]))
        row = self._store.lost(*principal, digest)
        if row is not None and self._goes_on(row, now):
            return row.id, datetime.fromisoformat(row.opened_at), digest
        if row is not None:
            self._store.end(row.id)
        return new_id(VIEW_PREFIX), now, digest

    def write(self, session: Session) -> None:
        """Keep how it stands now: its client is there, or was there last now."""
        tenant, principal = session.principal
        self._store.put(
            SessionRow(
                id=session.id,
                tenant=tenant,
                principal=principal,
                key=session.key,
                title=session.title,
                opened_at=session.opened_at.isoformat(),
                seen_at=None if session.connected else self._clock.now().isoformat(),
                until=(session.opened_at + LONGEST).isoformat(),
            )
        )

    def end(self, session: Session) -> None:
        """It has been closed, and does not go on."""
        self._store.end(session.id)

    def _goes_on(self, row: SessionRow, now: datetime) -> bool:
        idle = timedelta(seconds=self._limits.idle_session_s)
        seen = now if row.seen_at is None else datetime.fromisoformat(row.seen_at)
        return now < datetime.fromisoformat(row.until) and now < seen + idle
