"""Steps 2 and 6b: one invocation id is one call; repeats join it or get its stored result (SPEC 6.4)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from remit._base.boundary import Json, canonical
from remit._base.digest import sha256_hex
from remit._base.ident import new_id
from remit._invocation.call import Call, Later
from remit._invocation.lasting import Lasting
from remit._invocation.ledger import Entry, Ledger, keeps
from remit._invocation.runs import Runs
from remit._model.consumer import ConsumerKey
from remit._model.outcome import Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit.errors import Refusal, invocation_conflict, rate_limited

Named = Callable[[str, ConsumerKey, str], str | None]


class WouldRepeat(Exception):
    """A look ahead has found that the call would be a repeat."""


class HandedOver(Exception):
    """This call is a repeat: its answer is the other one's."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("handed over")
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs.

    `named` gives the invocation id of a consumer's evidence to a retry of that very call; `leave` says that one of
    those who wait for a call has gone; `runs` holds the flows that wait, `lasting` knows the calls of earlier
    processes, where there are any.
    """

    ledger: Ledger
    named: Named
    leave: Callable[[Call], None]
    runs: Runs
    lasting: Lasting | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What a look ahead needs of this phase: reading, and nothing else."""

    entry: Callable[[ConsumerKey, str], Entry | None]
    named: Named


def look_up(call: Call, part: Part) -> None:
    """Step 2: name the call; the same id with another fingerprint is a conflict."""
    given = _given(call, part.named)
    if given is None:
        call.invocation_id = new_id("inv_")
        part.ledger.begin(call)
        return
    call.invocation_id = given
    entry = part.ledger.find(call.key, given)
    if entry is None:
        part.ledger.begin(call)
    elif entry.fingerprint != call.fingerprint:
        raise Refusal(invocation_conflict())


def compare(call: Call, part: Known) -> None:
    """Step 2 of a look ahead: a given id with another fingerprint is a conflict; no id is made, nothing is begun."""
    call.invocation_id = _given(call, part.named) or ""
    _entry(call, part)


def would_repeat(call: Call, part: Known) -> None:
    """After step 6 of a look ahead: where a call would be handed the answer of another."""
    if _entry(call, part) is not None:
        raise WouldRepeat


def _entry(call: Call, part: Known) -> Entry | None:
    entry = part.entry(call.key, call.invocation_id) if call.invocation_id else None
    if entry is not None and entry.fingerprint != call.fingerprint:
        raise Refusal(invocation_conflict())
    return entry


def _given(call: Call, named: Named) -> str | None:
    """The id that caller or evidence names; takes the fingerprint, and whether the evidence is for this very call."""
    request = call.request
    call.fingerprint = _fingerprint(request, call.input_bytes)
    if request.confirmation is not None:
        own = named(request.confirmation, call.key, call.fingerprint)
        call.evidence_fits = own is not None
        return own if request.id is None else request.id
    return request.id


def _fingerprint(request: Invocation, input_bytes: bytes) -> str:
    named = [request.capability_id, request.instance, request.registration, request.surface_id]
    return sha256_hex(canonical([_spelled(name) for name in named]) + input_bytes)


def _spelled(name: object) -> Json:
    """A name as text; what is none is an unknown id, and that is for a later step to say (SPEC 2.3)."""
    if name is None:
        return None
    if not isinstance(name, str):
        return [type(name).__name__]
    try:
        name.encode()
    except UnicodeEncodeError:
        return [ascii(name)]
    return name


def hand_over(call: Call, part: Part) -> Later | None:
    """After step 6: a repeat that passed steps 3 to 6 by itself joins the running call or gets the stored result."""
    entry = part.ledger.find(call.key, call.invocation_id)
    if entry is not None and entry.fingerprint != call.fingerprint:  # begun while this one asked its policies
        raise Refusal(invocation_conflict())
    if part.runs.held and _is_another(call, part.runs):
        raise Refusal(invocation_conflict(), why="a flow waits under this id, and this is another call")
    if entry is None:  # the other call of this id ended without having started: this one is the first
        part.ledger.begin(call)
    if entry is None or entry.call is call:
        if keeps(call) and not part.ledger.reserve(call):
            raise Refusal(
                rate_limited("queue-full", part.ledger.wait_ms), why="the replay ledger of this consumer is full"
            )
        if part.lasting is not None and part.lasting.may_know(call):
            return partial(_earlier, call, part.ledger, part.lasting)
        return None
    if entry.outcome is not None:
        raise HandedOver(entry.outcome)
    assert entry.call is not None
    call.joined = True
    return partial(_join, entry.call, part, tuple(call.told))


def _is_another(call: Call, runs: Runs) -> bool:
    """Whether a flow waits under this id that another call began; evidence is held against what it is for."""
    if call.request.confirmation is not None or call.carries is not None or call.step_of is not None:
        return False
    run = runs.waits(call.key, call.invocation_id)
    return run is not None and run.fingerprint != call.fingerprint


async def _earlier(call: Call, ledger: Ledger, lasting: Lasting) -> None:
    """The answer of the process that ran this call before, if one did."""
    outcome = await lasting.earlier(call)
    call.waited = True
    if outcome is not None:
        ledger.end(call, stored=False, keep=False, size=0)
        raise HandedOver(outcome)


async def _join(running: Call, part: Part, told: tuple[ProgressListener, ...]) -> None:
    if running.outcome is not None:
        raise HandedOver(running.outcome)
    running.waiters += 1
    answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    running.listeners.append(answer)
    running.told.extend(told)
    try:
        outcome = await answer
    except asyncio.CancelledError:
        for listener in told:
            running.told.remove(listener)
        part.leave(running)
        raise
    raise HandedOver(outcome)
