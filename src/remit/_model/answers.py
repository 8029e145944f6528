"""What application code answers to remit's questions."""

from dataclasses import dataclass
from typing import Final

from remit._base.boundary import NotJson, take
from remit.errors import Happened

DETAIL_BYTES: Final = 2_048


@dataclass(frozen=True, slots=True)
class Unavailable:
    """`available` says no, and why; the reason is disclosed (SPEC 4.7: state discloses)."""

    reason: str


class Refused(Exception):
    """The author's own "no": returned by a precondition, returned or raised by a handler (SPEC 8.5).

    `reason` is shown to the agent as data; `details` must be JSON. A handler that has already acted says
    `outcome="done"`; one that cannot know says `"unknown"`; the default is `"none"`.
    """

    def __init__(self, reason: str, /, *, outcome: Happened | str = Happened.NONE, **details: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = Happened(outcome)
        self.details = details

    def shown(self) -> dict[str, object]:
        """The details as an agent may see them: an own copy, at most 2,048 bytes; nothing if they are no JSON."""
        try:
            value, _ = take(self.details, max_bytes=DETAIL_BYTES)
        except NotJson:
            return {}
        return dict(value) if isinstance(value, dict) else {}
