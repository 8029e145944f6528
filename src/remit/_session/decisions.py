"""Deciding about requests of any open view, by a person of the host (SPEC 7.4)."""

from remit._model.consumer import Decider
from remit._model.request_view import ConfirmationView
from remit._session.session import Session
from remit._session.views import Views

# Unknown, not the decider, not pending, another digest: what `Confirmations` raises, and nothing has changed.
_NOT_DECIDED = (LookupError, PermissionError, RuntimeError, ValueError)


class Decisions:
    """Waiting requests over all sessions; everybody sees only what they could decide."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def pending(self, decider: Decider) -> tuple[ConfirmationView, ...]:
        """The requests this person could decide now, oldest first."""
        found = [view for session in self._views.all() for view in session.surface.confirmations.pending(decider)]
        return tuple(sorted(found, key=lambda view: view.created_at))

    def get(self, confirmation_id: str, decider: Decider) -> ConfirmationView | None:
        """One request this person could decide, in whatever state it is; None for every other id."""
        found = self._find(confirmation_id, decider)
        return None if found is None else found[1]

    async def approve(self, confirmation_id: str, decider: Decider, *, digest: str) -> bool:
        """Approve what was shown, named by its digest; False when it could not be decided like that any more."""
        found = self._find(confirmation_id, decider)
        if found is None:
            return False
        try:
            await found[0].surface.confirmations.approve(confirmation_id, decider, digest=digest)
        except _NOT_DECIDED:
            return False
        return True

    async def deny(self, confirmation_id: str, decider: Decider, reason: str | None = None) -> bool:
        """Deny; False when it could not be decided any more."""
        found = self._find(confirmation_id, decider)
        if found is None:
            return False
        try:
            await found[0].surface.confirmations.deny(confirmation_id, decider, reason)
        except _NOT_DECIDED:
            return False
        return True

    def _find(self, confirmation_id: str, decider: Decider) -> tuple[Session, ConfirmationView] | None:
        for session in self._views.all():
            view = session.surface.confirmations.get(confirmation_id, decider)
            if view is not None:
                return session, view
        return None
