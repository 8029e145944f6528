"""Who is asked in which page: one dialog at a time, and a count in every open page of the decider (SPEC 7.3)."""

from collections.abc import Callable, Iterable

from nicegui import Client, ui

from remit._model.consumer import Decider
from remit._model.request_view import ConfirmationStatus, ConfirmationView
from remit._surface.surface import Surface
from remit.integrations.nicegui.dialog import Answer, ApprovalDialog, Question
from remit.integrations.nicegui.inside import inside
from remit.integrations.nicegui.style import DECISIONS

_NOT_TAKEN = "This answer was not taken: the request has ended, or you may not decide it."


class Desk:
    """The requests that one open page shows: its own in a dialog, all that its person could decide as a number.

    `decider` says who is signed in at that client now, never who was; it is asked for every count and every answer.
    `changed` is called when another request may be shown.
    """

    def __init__(
        self, client: Client, surface: Surface, decider: Callable[[], Decider | None], changed: Callable[[], None]
    ) -> None:
        self._client = client
        self._surface = surface
        self._decider = decider
        self._changed = changed
        self._dialog: ApprovalDialog | None = None
        self._later: set[str] = set()
        with client.layout, ui.element("div").props("role=status").classes("remit-waiting") as self._badge:
            self._link = ui.link("", DECISIONS, new_tab=True)
        self._badge.set_visibility(False)

    def heard(self, request: ConfirmationView) -> None:
        """A request of this page's surface is new or has changed."""
        if request.status is not ConfirmationStatus.PENDING:
            self._later.discard(request.id)
            if self._dialog is not None and self._dialog.request.id == request.id:
                dialog, self._dialog = self._dialog, None
                dialog.end(request)

        elif self._dialog is not None and self._dialog.request.id == request.id:
            if self._dialog.request.digest != request.digest:  # it goes on for another mount: show it again (SPEC 7.12)
                self._dialog.close()
                self._dialog = None

    def refresh(self, opened: Iterable[Surface]) -> None:
        """Show how many requests of all open pages this person could decide, and the oldest one of this page."""
        if self._client.is_deleted:
            return
        decider = self._decider()
        if decider is None:
            self._count(0)
            return
        self._count(sum(len(surface.confirmations.pending(decider)) for surface in opened))
        if self._dialog is not None:
            return
        for request in self._surface.confirmations.pending(decider):
            if request.id not in self._later:
                self._dialog = ApprovalDialog(self._client, Question(request=request, answered=self._answered))
                return

    def connected(self) -> None:
        """The browser is there (again)."""
        if self._dialog is not None:
            self._dialog.watch()

    def close(self) -> None:
        """Take everything off the page."""
        if self._dialog is not None:
            self._dialog.close()
            self._dialog = None
        if not self._badge.is_deleted:
            self._badge.set_visibility(False)

    async def _answered(self, answer: Answer) -> None:
        dialog = self._dialog
        if dialog is None:
            return
        request = dialog.request
        if answer == "later":
            self._later.add(request.id)
            self._dialog = None
            dialog.close()
            self._changed()
            return
        decider = self._decider()
        try:
            if decider is None:
                raise PermissionError
            if answer == "approve":
                await self._surface.confirmations.approve(request.id, decider, digest=request.digest)
            else:
                await self._surface.confirmations.deny(request.id, decider)
        except (LookupError, PermissionError, RuntimeError, ValueError):
            # The host's own refusals (SPEC 7.4); each left everything as it was, and the person is told that much.
            with inside(self._client):
                dialog.say(_NOT_TAKEN)

    def _count(self, number: int) -> None:
        things = "1 request waits" if number == 1 else f"{number} requests wait"
        self._link.set_text(f"{things} for your decision" if number else "")
        self._badge.set_visibility(number > 0)
