"""What a caller knows, and when it has to stop: decisions without a network (SPEC 11.13)."""

from typing import Final

from remit._model.outcome import Failed
from remit.client.values import Capability, Described, Happening
from remit.errors import (
    AgentError,
    ErrorCode,
    capability_not_found,
    confirmation_invalid,
    stale_capability,
)

_DROPS: Final = frozenset({"route-changed", "scope-changed", "lost"})


class Known:
    """The list of the latest describe, and the denial that came last; both are asked before anything is sent."""

    def __init__(self) -> None:
        self.drops = 0
        """How often the list was dropped; one that was asked for before the last drop is not kept."""
        self.denial: AgentError | None = None
        self._latest: Described | None = None
        self._by_id: dict[str, Capability] = {}

    @property
    def latest(self) -> Described | None:
        """The latest describe; None before the first one and after a drop."""
        return self._latest

    def keep(self, latest: Described, drops: int) -> bool:
        """Keep a list that was asked for after so many drops; False when it has been overtaken."""
        if drops != self.drops:
            return False
        self._latest = latest
        self._by_id = {each.id: each for each in latest.capabilities}
        return True

    def drop(self) -> None:
        """Forget the list: no id of it is called until the next describe."""
        self.drops += 1
        self._latest = None
        self._by_id = {}

    def look_up(self, id: str) -> Capability | AgentError:
        """The capability of exactly this id, or why nothing is to be sent."""
        if self.denial is not None:
            return self.denial
        if self._latest is None:
            return stale_capability("surface-version-mismatch")
        return self._by_id.get(id) or capability_not_found()

    def hear(self, event: Happening) -> None:
        """Drop the list when the route or the scope has changed, or its view has gone; stop when a person said no."""
        closed = event.name == "session-closed" and self._latest is not None and event.view == self._latest.view
        if event.name in _DROPS or closed:
            self.drop()
        if event.name == "confirmation-resolved" and event.data.get("status") == "denied":
            self.denial = confirmation_invalid("denied")

    def settle(self, refusal: Failed) -> None:
        """Take a refusal in: a denial stops the caller, a view that has gone takes its list along."""
        error = refusal.error
        if _denies(error):
            self.denial = error
        if error.code is ErrorCode.SURFACE_UNREACHABLE:
            self.drop()


def refused(error: AgentError, capability: str) -> Failed:
    """A refusal of the caller's own; nothing was sent."""
    return Failed(invocation_id="", capability_id=capability, error=error, surface_version="", surface_changed=False)


def _denies(error: AgentError) -> bool:
    if error.code is ErrorCode.CONFIRMATION_INVALID:
        return error.details.get("reason") == "denied"
    return error.code in {ErrorCode.NOT_AUTHORIZED, ErrorCode.NOT_AUTHENTICATED}
