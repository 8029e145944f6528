"""How the host's side is refused: each leaves everything as it was (SPEC 7.4)."""

from remit._model.handoff_view import HandoffStatus
from remit._model.request_view import ConfirmationStatus


class NotTheDecider(PermissionError):
    """This person may not decide this request; nothing changed (SPEC 7.4)."""

    def __init__(self) -> None:
        super().__init__("this person may not decide this request")


class NotPending(RuntimeError):
    """The request is no longer pending; `status` says what became of it, and nothing changed."""

    def __init__(self, status: ConfirmationStatus) -> None:
        super().__init__(f"the request is {status.value}, not pending")
        self.status = status


class WrongDigest(ValueError):
    """What the person was shown is not what the request asks; nothing changed (SPEC 7.2)."""

    def __init__(self) -> None:
        super().__init__("the digest is not the one of this request: show it again, then decide")


class PartAway(RuntimeError):
    """The part of the view that it was asked for is away and may come back; nothing changed (SPEC 7.12)."""

    def __init__(self) -> None:
        super().__init__("the part of the view that this was asked for is away: approve when it is back, or deny")


class UnknownRequest(LookupError):
    """There is no request or standing approval with this id, or not any more."""

    def __init__(self) -> None:
        super().__init__("there is no such request")


class NotStanding(ValueError):
    """This cannot be approved for the session, or not with these fields freed; nothing changed (SPEC 7.9)."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no standing approval: {why}")


class TooManyStanding(RuntimeError):
    """As many standing approvals are held as there may be; nothing changed (SPEC 7.9)."""

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} standing approvals are held, the most there may be: revoke one, or approve once")


class UnknownHandoff(LookupError):
    """There is no handoff with this id, or not any more."""

    def __init__(self) -> None:
        super().__init__("there is no such handoff")


class HandoffEnded(RuntimeError):
    """The handoff is no longer pending; `status` says what became of it, and nothing changed."""

    def __init__(self, status: HandoffStatus) -> None:
        super().__init__(f"the handoff is {status.value}, not pending")
        self.status = status


class WrongData(ValueError):
    """What a handoff was to be completed with is not of the declared output type; nothing changed (SPEC 11.7)."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the data is not what the capability declares to return: {why}")
