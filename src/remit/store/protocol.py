"""What a store must offer, and the plain rows it holds (SPEC 7.6, 15.1)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

from typing_extensions import Unpack

from remit.store.rows import CallRow, DelegationRow, HandoffRow, SessionRow, StandingRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationRow:
    """One confirmation request as stored: plain, JSON-able data, without a live object.

    `status` is a `ConfirmationStatus` value, `cause` a `CancelCause` value, `outcome` a `Happened` value, None before
    spending. `consumer` is the key of the requester as canonical JSON; `form` the canonical JSON the digest is over,
    the exact effective input included; `kid` names the key it was made with. Times are ISO 8601 UTC.
    """

    id: str
    surface_id: str
    registration: str
    capability: str
    tenant: str | None
    principal: str
    consumer: str
    kid: str
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

    @property
    def durable(self) -> bool:
        """True when requests are kept beyond the process that asked; then the key comes from the host (SPEC 7.1)."""
        ...

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RevocationRow:
    """One grant that was taken back, as stored: which, by whom and why (SPEC 11.11).

    `until` is when it would have ended by itself, None when that is not known; then the row may be forgotten. `tenant`
    and `principal` say whose it was, where that is known. Times are ISO 8601 UTC.
    """

    id: str
    at: str
    by: str
    why: str
    until: str | None = None
    tenant: str | None = None
    principal: str | None = None


class MeterStore(Protocol):
    """Token buckets that everything over one store shares (SPEC 5.5, 5.7); the store's own clock counts."""

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        """Take a token of the bucket `key`, atomically: 0.0, or the seconds until there is one, and none was taken.

        A bucket holds `calls` tokens, full at first, and fills evenly in `per_s` seconds. With `charge=False` it is
        only looked at. A bucket that was not used for an hour may be forgotten.
        """
        ...


class SuspensionStore(Protocol):
    """What operators switched off (SPEC 4.13): the copy that calls look at, so nothing in here waits.

    A store that several processes share writes through behind it, and puts in what others wrote. Keys are texts.
    """

    @property
    def any(self) -> bool:
        """False as long as nothing is suspended."""
        ...

    def holds(self, key: str) -> bool:
        """Whether this is suspended."""
        ...

    def set(self, key: str, suspended: bool) -> bool:
        """Suspend or reinstate; say whether that changed anything. One too many is an `OverflowError`."""
        ...

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Tell a listener each key that changed, in whatever thread that is; return what ends it. It must not raise."""
        ...


class RevocationStore(Protocol):
    """What was taken back (SPEC 11.11): the copy that requests look at, so nothing in here waits.

    A store that several processes share writes through behind it, and puts in what others wrote.
    """

    @property
    def any(self) -> bool:
        """False as long as nothing is revoked."""
        ...

    def holds(self, id: str) -> bool:
        """Whether this grant is revoked."""
        ...

    def add(self, row: RevocationRow) -> bool:
        """Revoke; False, and nothing changed, when it was revoked before. One too many is an `OverflowError`."""
        ...

    def subscribe(self, listener: Callable[[RevocationRow], None]) -> Callable[[], None]:
        """Tell a listener each row added, in whatever thread that is; return what ends it. It must not raise."""
        ...


class StandingStore(Protocol):
    """What people approved for the session (SPEC 7.9). Nothing in here waits; a durable store writes behind it."""

    def put(self, row: StandingRow) -> None:
        """Keep it as it is now, in place of what was kept under its id."""
        ...

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> Sequence[StandingRow]:
        """Return what stands now, oldest first; None does not restrict."""
        ...


class HandoffStore(Protocol):
    """Steps for persons (SPEC 11.7). Nothing in here waits; a durable store writes behind it."""

    def put(self, row: HandoffRow) -> None:
        """Keep it as it is now, in place of what was kept under its id."""
        ...

    def list(self, tenant: str | None, principal: str, consumer: str) -> Sequence[HandoffRow]:
        """Return what this person and consumer have beside what a surface of a living process holds open, oldest first.

        That is what has ended, in earlier processes too, and what waits to be handed over by `lost`. It may be limited
        to the last 1,000 and to 30 days. None is the person of no tenant.
        """
        ...

    def lost(self, tenant: str | None, principal: str, capability: str, instance: str) -> Sequence[HandoffRow]:
        """Hand over what still waits for this person here and was asked for by a process that has ended; each once."""
        ...


class SessionStore(Protocol):
    """Open views (SPEC 11.11). Nothing in here waits; a durable store writes behind it."""

    def put(self, row: SessionRow) -> None:
        """Keep it as it is now, in place of what was kept under its id."""
        ...

    def end(self, id: str) -> None:
        """Forget it; one that is not kept is left as it is."""
        ...

    def lost(self, tenant: str | None, principal: str, key: str) -> SessionRow | None:
        """Hand over the view of this name that a process had open which has ended; only once, and None without one."""
        ...

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> Sequence[SessionRow]:
        """Return what is kept, oldest first; None does not restrict."""
        ...


class DelegationStore(Protocol):
    """Tokens that were given out (SPEC 11.11). Nothing in here waits; a durable store writes behind it."""

    def put(self, row: DelegationRow) -> None:
        """Keep it; the longest unused of more than 10,000 is forgotten, and whatever has ended by itself."""
        ...

    def get(self, id: str) -> DelegationRow | None:
        """Return it, or None."""
        ...

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> Sequence[DelegationRow]:
        """Return those that have not ended by themselves, oldest first; None does not restrict."""
        ...


class CallStore(Protocol):
    """Calls that must not run twice (SPEC 6.4, 7.6): used only over a store that is `durable`."""

    @property
    def any_lost(self) -> bool:
        """False as long as no process has left a call behind; then nobody needs to ask for one."""
        ...

    async def begin(self, row: CallRow) -> None:
        """Keep a call that is about to run, in place of an earlier one of this surface, consumer and id."""
        ...

    async def settle(self, surface_id: str, consumer: str, id: str, outcome: str | None) -> None:
        """Keep how it ended; None forgets it, because nothing has run."""
        ...

    async def lost(self, tenant: str | None, principal: str, consumer: str, id: str) -> CallRow | None:
        """Return the call of this id that a process began which has ended since, or None."""
        ...


class Store(Protocol):
    """Everything a deployment keeps, part by part."""

    @property
    def confirmations(self) -> ConfirmationStore:
        """The confirmation requests."""
        ...

    @property
    def meters(self) -> MeterStore:
        """The shared limits."""
        ...

    @property
    def suspensions(self) -> SuspensionStore:
        """What is switched off."""
        ...

    @property
    def revocations(self) -> RevocationStore:
        """What was taken back."""
        ...

    @property
    def standing(self) -> StandingStore:
        """What was approved for the session."""
        ...

    @property
    def handoffs(self) -> HandoffStore:
        """The steps for persons."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """The open views."""
        ...

    @property
    def delegations(self) -> DelegationStore:
        """The tokens that were given out."""
        ...

    @property
    def calls(self) -> CallStore:
        """The calls that must not run twice."""
        ...

    async def flush(self) -> None:
        """Return when everything that was said before is kept; raises what keeps it from being so."""
        ...
