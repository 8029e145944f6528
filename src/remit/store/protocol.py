"""What a store must offer, and the plain rows it holds (SPEC 7.6, 15.1)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

from typing_extensions import Unpack


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationRow:
    """One confirmation request as stored: plain, JSON-able data, without a live object.

    `status` is a `ConfirmationStatus` value, `cause` a `CancelCause` value, `outcome` a `Happened` value, None before
    spending. `consumer` is the key of the requester as canonical JSON; `form` the canonical JSON the digest is over,
    the exact effective input included. Times are ISO 8601 UTC.
    """

    id: str
    surface_id: str
    registration: str
    capability: str
    tenant: str | None
    principal: str
    consumer: str
    digest: str
    form: str
    approvers: tuple[str, ...]
    created_at: str
    decide_by: str
    status: str
    spend_by: str | None = None
    cause: str | None = None
    decided_by: str | None = None
    reason: str | None = None
    outcome: str | None = None


class ConfirmationChanges(TypedDict, total=False):
    """What a transition may change beside the status.

    `registration`, `digest` and `form` change together, when a pending request moves to the next mount of the same part
    of the view (SPEC 7.12).
    """

    registration: str
    digest: str
    form: str
    spend_by: str | None
    cause: str | None
    decided_by: str | None
    reason: str | None
    outcome: str | None


class ConfirmationStore(Protocol):
    """Where confirmation requests are kept; `transition` is the one place where a request changes (SPEC 7.6)."""

    async def put(self, row: ConfirmationRow) -> None:
        """Keep a new request; an id that is taken is a `ValueError`."""
        ...

    async def get(self, id: str) -> ConfirmationRow | None:
        """Return the request, or None."""
        ...

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        """Change the status if it still is `from_status`, atomically; False when it is not, or there is no such id."""
        ...

    async def list(
        self, *, surface_id: str | None = None, statuses: Collection[str] | None = None
    ) -> Sequence[ConfirmationRow]:
        """Return the requests that fit, oldest first; None does not restrict."""
        ...


class Store(Protocol):
    """Everything a deployment keeps, part by part."""

    @property
    def confirmations(self) -> ConfirmationStore:
        """The confirmation requests."""
        ...
