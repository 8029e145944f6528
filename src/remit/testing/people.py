"""The people a harness can ask: who decides, at once or when the test says so (SPEC 7.4)."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from remit._base.clock import ManualClock
from remit._model.consumer import Decider, Principal
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.request_view import ConfirmationStatus, ConfirmationView
from remit._surface.surface import Surface
from remit.errors import ErrorCode

Answers: TypeAlias = Literal["approve", "deny", "manual"]
PrincipalSource: TypeAlias = Principal | str | Callable[[], Principal | None]
Asked: TypeAlias = Failed | ConfirmationView | str

_ANSWERS: Final = ("approve", "deny", "manual")
_DAY_S: Final = 86_400
_OPEN: Final = frozenset({ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED})


class People:
    """Whoever may decide on one surface; listening makes them somebody who can be asked (SPEC 7.8)."""

    __slots__ = ("_answering", "_answers", "_surface", "principal")

    def __init__(self, surface: Surface, principal: PrincipalSource, answers: Answers) -> None:
        if answers not in _ANSWERS:
            raise ValueError(f'decider is "approve", "deny" or "manual", not {answers!r}')
        self.principal = Principal(principal) if isinstance(principal, str) else principal
        self._surface = surface
        self._answers: Answers = answers
        self._answering: set[asyncio.Task[None]] = set()
        surface.confirmations.subscribe(self._was_asked)

    @property
    def answer_at_once(self) -> bool:
        """True when a request is answered without the test."""
        return self._answers != "manual"

    @property
    def answers(self) -> Answers:
        """How requests are answered."""
        return self._answers

    async def answered(self) -> None:
        """Wait until everything asked so far has its answer; raises what an answer raised."""
        for task in tuple(self._answering):
            await task

    def approve(self, asked: Asked | None, by: Decider | None) -> None:
        """Approve a request as that view shows it, else as it is shown now; or the only one that is pending."""
        request = self.meant(asked)
        view = asked if isinstance(asked, ConfirmationView) else self._surface.confirmations.get(request)
        digest = None if view is None else view.digest
        _at_once(self._surface.confirmations.approve(request, by or self._principal_decides(), digest=digest))

    def deny(self, asked: Asked | None, by: Decider | None, reason: str | None) -> None:
        """Deny a request, or the only one that is pending."""
        _at_once(self._surface.confirmations.deny(self.meant(asked), by or self._principal_decides(), reason))

    def let_expire(self, asked: Asked | None, clock: ManualClock) -> None:
        """Let the clock run until the request has ended; AssertionError if it did not end by expiring."""
        request = self.meant(asked)
        view = self._surface.confirmations.get(request)
        for _ in range(_DAY_S):
            if view is None or view.status not in _OPEN:
                break
            clock.advance(1)
            view = self._surface.confirmations.get(request)
        if view is None or view.status is not ConfirmationStatus.EXPIRED:
            raise AssertionError(f"the request cannot expire: it is {'unknown' if view is None else view.status.value}")

    def meant(self, asked: Asked | None) -> str:
        """The id of the request that is meant; without one, of the only one that is pending."""
        if asked is not None:
            return confirmation_id(asked)
        pending = self._surface.confirmations.pending()
        if len(pending) != 1:
            waiting = ", ".join(f"{each.capability} ({each.id})" for each in pending) or "none"
            raise AssertionError(f"{len(pending)} requests are pending, so say which\n  pending  {waiting}")
        return pending[0].id

    def _was_asked(self, request: ConfirmationView) -> None:
        if not self.answer_at_once or request.status is not ConfirmationStatus.PENDING:
            return
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: ConfirmationView) -> None:
        by = Decider("decider" if request.approvers else request.principal, request.approvers, tenant=request.tenant)
        with suppress(RuntimeError):  # ended meanwhile: nothing is left to answer
            if self._answers == "approve":
                await self._surface.confirmations.approve(request.id, by, digest=request.digest)
            else:
                await self._surface.confirmations.deny(request.id, by)

    def person(self) -> Principal:
        """Whose surface it is now; a RuntimeError when nobody is signed in."""
        person = self.principal if isinstance(self.principal, Principal) else self.principal()
        if person is None:
            raise RuntimeError("nobody is signed in, so nobody decides\n  do  by=Decider(…)")
        return person

    def _principal_decides(self) -> Decider:
        person = self.person()
        return Decider(person.id, person.grants, tenant=person.tenant)


def asks(outcome: Outcome) -> bool:
    """True for a refusal that asks for a person here; what a backend wants approved is decided there (SPEC 7.11)."""
    return (
        isinstance(outcome, Failed)
        and outcome.error.code is ErrorCode.CONFIRMATION_REQUIRED
        and "confirmation_id" in outcome.error.details
    )


def confirmation_id(asked: Asked | Outcome) -> str:
    """The id of a request, from the refusal that asked for it, from its view, or as it is."""
    if isinstance(asked, str):
        return asked
    if isinstance(asked, ConfirmationView):
        return asked.id
    said = asked.error.details.get("confirmation_id") if isinstance(asked, Failed) else None
    if isinstance(said, str):
        return said
    if not isinstance(asked, Ok | Failed):
        raise TypeError(f"{asked!r:.80} is no request\n  do  give the refusal that asked, a view of it, or its id")
    answered = asked.error.code.value if isinstance(asked, Failed) else "Ok"
    raise AssertionError(f"{asked.capability_id} does not ask for anybody: it answered {answered}")


def _at_once(decision: Coroutine[object, object, None]) -> None:
    """Run a decision to its end here and now: a store in memory has nothing to wait for.

    So a test decides in one plain line, and a wrong decider fails in that line.
    """
    try:
        decision.send(None)
    except StopIteration:
        return
    decision.close()
    raise RuntimeError(
        "the store of this surface has to be waited for\n  do  await harness.surface.confirmations.approve(id, decider)"
    )
