"""A session: one view one person has open, and the surface that lives as long as it (SPEC 1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from remit._model.consumer import Consumer
from remit._model.event import EventType
from remit._surface.surface import Surface
from remit.errors import AgentError, Happened, execution_failed

VIEW_PREFIX: Final = "vew_"

WITHHELD: Final = "the answer held the token or a cookie of its own request"
"""What the journal says, without the value."""

PrincipalKey = tuple[str | None, str]
"""(tenant, id) of a principal: whose view it is, whatever the person may do at the moment."""


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """One open view.

    `connected` says that the person's client is there now; building a page opens nothing (SPEC 11.12). `tab` names the
    browser tab where the framework knows it, so that a reload is recognised. `absences` counts how often the client was
    not there, the time before its first connect included. `told` says that listeners of the surface know it is open.
    `key` is a digest of the host's own name for it.
    """

    id: str
    principal: PrincipalKey
    title: str
    opened_at: datetime
    surface: Surface
    connected: bool = False
    tab: str | None = None
    absences: int = 0
    told: bool = False
    key: str | None = None

    def opened(self) -> None:
        """The client is there for the first time: now the session is open (SPEC 9.1, 11.12)."""
        if not self.told:
            self.told = True
            self.surface._session(EventType.SESSION_OPENED, {"view": self.id, "title": self.title})

    def closed(self) -> None:
        """It ends, before its surface does; one that no client ever came to was never open."""
        if self.told:
            self.told = False
            self.surface._session(EventType.SESSION_CLOSED, {"view": self.id, "title": self.title})

    def is_its_persons(self) -> bool:
        """Ask the application whether the person of this view is still signed in; when not, its surface ends."""
        parts = self.surface._explained()
        return parts is not None and parts.viewers.here()

    def withheld(self, consumer: Consumer, invocation: str | None) -> AgentError:
        """What a door answers in place of what held a secret of its own request; journalled without it (SPEC 11.10)."""
        self.surface._withheld(consumer, invocation, WITHHELD)
        return execution_failed("output-invalid", Happened.UNKNOWN)

    def to_json(self, title: str) -> Mapping[str, object]:
        """How the view is told to agents and people of its principal: `view`, `title`, `route`, `opened_at`."""
        return {"view": self.id, "title": title, "route": self.surface.route, "opened_at": self.opened_at.isoformat()}
