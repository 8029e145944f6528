"""Deciding about requests of any open view, by a person of the host (SPEC 7.4)."""

from collections.abc import Collection

from remit._model.consumer import Decider
from remit._model.request_view import ConfirmationView
from remit._model.standing import StandingApproval
from remit._model.untrusted_read import UntrustedRead
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

    async def approve(
        self, confirmation_id: str, decider: Decider, *, digest: str, standing: Collection[str] | None = None
    ) -> bool:
        """Approve what was shown, named by its digest; False when it could not be decided like that any more.

        `standing` names the fields to leave free when it is approved for the session, too (SPEC 7.9).
        """
        found = self._find(confirmation_id, decider)
        if found is None:
            return False
        try:
            confirmations = found[0].surface.confirmations
            await confirmations.approve(confirmation_id, decider, digest=digest, standing=standing)
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

    def standing(self, decider: Decider) -> tuple[StandingApproval, ...]:
        """What was approved for the session and this person could revoke, oldest first."""
        found = [each for session in self._views.all() for each in session.surface.confirmations.standing(decider)]
        return tuple(sorted(found, key=lambda each: each.given_at))

    async def revoke(self, standing_id: str, decider: Decider) -> bool:
        """Take back what was approved for the session; False when there is no such thing for this person."""
        for session in self._views.all():
            try:
                await session.surface.confirmations.revoke(standing_id, decider)
            except _NOT_DECIDED:
                continue
            return True
        return False

    def untrusted(self, decider: Decider) -> tuple[UntrustedRead, ...]:
        """The agents that have read text from outside in any view of this person, by their first such read."""
        found = [each for session in self._views.all() for each in session.surface.confirmations.untrusted(decider)]
        first: dict[tuple[str, str | None], UntrustedRead] = {}
        for each in sorted(found, key=lambda each: each.at):
            first.setdefault((each.consumer, each.issuer), each)
        return tuple(first.values())

    def clear_untrusted(self, consumer: str, decider: Decider) -> bool:
        """Say of an agent that it may be trusted again in every view of this person; False when there is none such."""
        cleared = False
        for session in self._views.all():
            confirmations = session.surface.confirmations
            if any(each.consumer == consumer for each in confirmations.untrusted(decider)):
                cleared = confirmations.clear_untrusted(consumer, decider) or cleared
        return cleared

    def _find(self, confirmation_id: str, decider: Decider) -> tuple[Session, ConfirmationView] | None:
        for session in self._views.all():
            view = session.surface.confirmations.get(confirmation_id, decider)
            if view is not None:
                return session, view
        return None
