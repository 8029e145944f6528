"""The host's side of confirmation: who waits, approve, deny (SPEC 7.4). No agent-facing verb reaches it."""

from collections.abc import Callable, Collection

from remit._confirmation.desk import Desk
from remit._confirmation.outside import Outside
from remit._confirmation.refusals import UnknownRequest, WrongDigest
from remit._confirmation.request import RequestRecord, check_fields, check_reason
from remit._model.consumer import ConsumerKey, Decider, check_decider
from remit._model.ids import check_id
from remit._model.request_view import ConfirmationStatus, ConfirmationView
from remit._model.standing import StandingApproval
from remit._model.untrusted_read import UntrustedRead


class Confirmations:
    """The requests of one surface, for the application that asks its people.

    Errors are for the host: `UnknownRequest` (a `LookupError`), `NotTheDecider` (a `PermissionError`), `NotPending` (a
    `RuntimeError` with the status), `PartAway` (a `RuntimeError`: the part of the view it was asked for is away),
    `WrongDigest` (a `ValueError`), and a `TypeError` for who is no `Decider`. After each of them nothing has changed.
    """

    __slots__ = ("_desk", "_outside")

    def __init__(self, desk: Desk, outside: Outside) -> None:
        self._desk = desk
        self._outside = outside

    def pending(self, decider: Decider | None = None) -> tuple[ConfirmationView, ...]:
        """What waits for an answer, oldest first; with `decider` only what that person may decide."""
        check_decider(decider)
        return tuple(
            record.view()
            for record in self._desk.pending()
            if record.listed and (decider is None or record.may_be_decided_by(decider))
        )

    def get(self, id: str, decider: Decider | None = None) -> ConfirmationView | None:
        """One request in its present state, ended ones too; None if there is none, or `decider` may not decide it."""
        check_id(id, "a request")
        check_decider(decider)
        record = self._desk.find(id)
        if record is None or not record.listed or (decider is not None and not record.may_be_decided_by(decider)):
            return None
        return record.view()

    async def approve(
        self, id: str, decider: Decider, *, digest: str | None = None, standing: Collection[str] | None = None
    ) -> None:
        """Approve this exact call, once, for the window to spend it.

        `decider` is the authenticated person: the principal, or with an approver whoever holds that grant. `digest` is
        that of the view the person was shown: where the request has moved to another mount since, it is another, and
        this is `WrongDigest` (SPEC 7.2, 7.12). Without it the request is approved as it stands now, for the same
        effective input, whatever mount it is for: for code that has just read the view itself.

        `standing` approves for the session, too, where the view's `standing` offers that: for 15 minutes and 10 further
        calls nobody is asked about the same call of the same consumer. It names the fields whose values may then vary
        within the schema that was shown, none with `()`; every other one stays pinned to its value, bound ones too
        (SPEC 7.9). `NotStanding`: it is not offered, or not with these fields; `TooManyStanding`: 32 are held.
        """
        check_decider(decider, needed=True)
        check_fields(standing)
        record = self._record(id)
        if digest is not None and digest != record.digest:
            raise WrongDigest
        await self._desk.approve(record, decider, standing)

    async def deny(self, id: str, decider: Decider, reason: str | None = None) -> None:
        """Say no: final for the identical request for 10 minutes. The reason is for the journal, not for the agent."""
        check_decider(decider, needed=True)
        check_reason(reason)
        await self._desk.decide(self._record(id), decider, ConfirmationStatus.DENIED, reason)

    def standing(self, decider: Decider | None = None) -> tuple[StandingApproval, ...]:
        """The approvals for the session that stand, oldest first; with `decider` only what that person may revoke."""
        check_decider(decider)
        return self._desk.standings.views(decider)

    async def revoke(self, id: str, decider: Decider) -> None:
        """Take an approval for the session back, as of the next call; a call that runs is not interrupted.

        `decider` is whoever could have given it, or the principal, else `NotTheDecider`. One that has ended is
        `UnknownRequest`.
        """
        check_id(id, "a standing approval")
        check_decider(decider, needed=True)
        self._desk.standings.revoke(id, decider)

    def untrusted(self, decider: Decider | None = None) -> tuple[UntrustedRead, ...]:
        """The agents that have read text from outside since a person last cleared them, each by its first read.

        With `decider` only those that this person may clear (SPEC 11.15).
        """
        check_decider(decider)
        return self._outside.reads(decider)

    def clear_untrusted(self, consumer: str, decider: Decider) -> bool:
        """Say that this agent may be trusted again, as of its next call; False when it had read nothing from outside.

        `consumer` is the id as `untrusted` tells it, `decider` the principal, else `NotTheDecider`; call it for a
        person who has seen what the agent did, never for an agent. The next such text counts again (SPEC 11.15).
        """
        check_id(consumer, "a consumer")
        check_decider(decider, needed=True)
        return self._outside.clear(consumer, decider)

    async def wait(self, id: str) -> ConfirmationStatus:
        """Wait until the request is no longer pending; return what became of it."""
        return await self._desk.left_pending(self._record(id), None)

    def subscribe(self, listener: Callable[[ConfirmationView], None]) -> Callable[[], None]:
        """Hear of every request and of each change of its state; return what ends it.

        A subscriber counts as a channel: capabilities that need a person are available while there is one (SPEC 7.8).
        """
        return self._desk.listeners.add(listener)

    def attach_page(self) -> Callable[[], None]:
        """Say that a decision page is there to show requests: a channel, until the returned function is called."""
        self._desk.pages += 1
        attached = True

        def detach() -> None:
            nonlocal attached
            if attached:
                attached = False
                self._desk.pages -= 1

        return detach

    def lift(self, capability: str | None = None, consumer: ConsumerKey | str | None = None) -> None:
        """Let a consumer ask again after `denied-often` or `unanswered`; call it for a person, never for an agent.

        `consumer` is a key, or the id of the consumer as text; None stands for all. A denial stays final (SPEC 7.5).
        """
        self._desk.restraint.lift(capability, consumer)

    def _record(self, id: str) -> RequestRecord:
        check_id(id, "a request")
        record = self._desk.find(id)
        if record is None or not record.listed:
            raise UnknownRequest
        return record
