"""What the verbs do: a request in, one answer out, whatever carries them (SPEC 11.1)."""

import logging
from collections.abc import Callable, Mapping
from typing import Final, assert_never

import orjson

from remit._base.boundary import Json
from remit._base.clock import Clock
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._model.outcome import Failed, Ok, Outcome, untrusted_to_json
from remit._model.port import SurfacePort
from remit._model.request import Invocation
from remit._model.trace import Trace
from remit._session.identity import Identity
from remit._session.reach import Callers, no_such_view, unreachable
from remit._session.session import Session
from remit._session.views import Views
from remit._toolset.pins import UNLISTED
from remit._toolset.result import asked, refusal, with_details
from remit.errors import (
    AgentError,
    ErrorCode,
    Happened,
    capability_not_available,
    capability_not_found,
    execution_failed,
    rate_limited,
)
from remit.gateway.page_protocol.callers import Caller
from remit.gateway.page_protocol.descriptors import Aim, aim, describe, ids_of
from remit.gateway.page_protocol.listening import Stream
from remit.gateway.page_protocol.messages import Requests, text_of
from remit.gateway.page_protocol.schemas import PROTOCOL

Answer = Mapping[str, object]
Link = Callable[[str], "str | None"]
"""Where a person decides a confirmation request; None where the application serves no such page."""

RETRY_MS: Final = 1_000
"""When to come back with one stream or one request more."""

logger = logging.getLogger(__name__)


class Verbs:
    """Answers requests of consumers; it decides nothing: the surface does, for every call."""

    def __init__(self, views: Views, clock: Clock, limits: Limits) -> None:
        self.requests = Requests()
        self.callers: Callers[Caller] = Callers(lambda identity: Caller(identity, views, clock), clock, limits)
        self._limits = limits

    async def answer(self, verb: str, body: Json, identity: Identity, link: Link, trace: Trace | None = None) -> Answer:
        """Answer one request; nothing an agent sends makes it raise. `trace` is the one that the request came with."""
        try:
            request = self.requests.read(verb, body)
            if isinstance(request, AgentError):
                return refused(request)
            caller = self.callers.of(identity)
            answer = await self._answered(verb, request, caller, link, trace)
            if not identity.given_away(orjson.dumps(answer).decode()):
                return answer
            return _withheld(answer, caller, identity)
        except Exception:
            # The gateway's edge: the text of what is raised here is the operator's.
            correlation = new_id("cor_")
            logger.exception("a request of the page protocol failed (%s)", correlation)
            return refused(execution_failed("transport", Happened.UNKNOWN, correlation_id=correlation))

    async def _answered(
        self, verb: str, request: Mapping[str, Json], caller: Caller, link: Link, trace: Trace | None
    ) -> Answer:
        match verb:
            case "describe":
                return self._describe(caller, text_of(request, "view"))
            case "invoke":
                return await self._invoke(caller, request, link, trace)
            case "propose":
                return self._in_view(caller, capability_not_available("not offered"))
            case _:
                return self._handoff(caller, text_of(request, "handoff") or "")

    def stream(self, identity: Identity) -> tuple[Caller, Stream] | AgentError:
        """Begin to listen; RATE_LIMITED when this consumer has as many streams as it may."""
        caller = self.callers.of(identity)
        if caller.full:
            return rate_limited("queue-full", RETRY_MS)
        stream = Stream(caller, self._limits.events_backlog, identity)
        caller.enter(stream, stream.end)
        return caller, stream

    def _describe(self, caller: Caller, wanted: str | None) -> Answer:
        if wanted is not None and caller.reach.choose(wanted) is None:
            return refused(no_such_view())
        session = caller.reach.chosen()
        if not isinstance(session, Session):
            return refused(unreachable(session))
        snapshot = session.surface.snapshot(caller.consumer)
        visible = snapshot.capabilities()
        told = [describe(id, listed, caller.asks) for id, listed in zip(ids_of(visible), visible, strict=True)]
        views = [dict(row) for row in caller.reach.told()]
        title = next((row["title"] for row in views if row["view"] == session.id), session.title)
        return {
            "protocol": PROTOCOL,
            "ok": True,
            "view": session.id,
            "title": title,
            "route": snapshot.route,
            "views": views,
            "surface": snapshot.surface_id,
            "version": snapshot.surface_version,
            "capabilities": told,
        }

    async def _invoke(self, caller: Caller, request: Mapping[str, Json], link: Link, trace: Trace | None) -> Answer:
        session = caller.reach.chosen()
        if not isinstance(session, Session):
            return refused(unreachable(session))
        port: SurfacePort = session.surface
        id, given = text_of(request, "capability") or "", request.get("input")
        meant = aim(id, port.snapshot(caller.consumer).capabilities())
        registration = _registration(meant, text_of(request, "registration"))
        invocation = Invocation(
            capability_id=meant.capability,
            input=given if isinstance(given, dict) else None,
            id=text_of(request, "invocation"),
            instance=meant.instance,
            registration=registration,
            surface_id=text_of(request, "surface"),
            surface_version=text_of(request, "version"),
            confirmation=text_of(request, "confirmation"),
            trace=trace,
        )
        outcome = await port.invoke(invocation, caller.consumer)
        return _settled(id, port, self._told(outcome, id, caller, port, link), registration, meant)

    def _handoff(self, caller: Caller, id: str) -> Answer:
        """How a handoff of this caller stands, in whichever of its views; every other id gets one answer."""
        for session in caller.reach.opened():
            state = session.surface.handoff(id, caller.consumer)
            if state is not None:
                return {"protocol": PROTOCOL, "ok": True, **state.to_json()}
        return self._in_view(caller, capability_not_found())

    def _told(self, outcome: Outcome, id: str, caller: Caller, port: SurfacePort, link: Link) -> Outcome:
        """The outcome with what this door knows beside it: where a person decides, what a stale id means now."""
        if isinstance(outcome, Ok):
            return outcome
        request = asked(outcome)
        url = None if request is None else link(request)
        if url is not None:
            return with_details(outcome, url=url)
        if outcome.error.code is ErrorCode.STALE_CAPABILITY:
            visible = port.snapshot(caller.consumer).capabilities()
            found = aim(id, visible).found
            if len(found) == 1:
                own = ids_of(visible)[visible.index(found[0])]
                return with_details(outcome, present=describe(own, found[0], caller.asks))
        return outcome

    def _in_view(self, caller: Caller, error: AgentError) -> Answer:
        """The refusal, or before it what is said where there is no view to work in."""
        session = caller.reach.chosen()
        return refused(error if isinstance(session, Session) else unreachable(session))


def refused(error: AgentError) -> Answer:
    """A refusal that no call gave."""
    return {"protocol": PROTOCOL, "ok": False, "error": refusal(error)[1]["error"]}


def _withheld(answer: Answer, caller: Caller, identity: Identity) -> Answer:
    """The refusal in place of an answer that holds the token or a cookie of its own request (SPEC 11.10)."""
    session = caller.reach.looks_at()
    if session is None:
        return refused(execution_failed("output-invalid", Happened.UNKNOWN))
    return refused(session.withheld(caller.consumer, identity.harmless(answer.get("invocation"))))


def _registration(meant: Aim, named: str | None) -> str | None:
    """The registration to call: a write without one goes nowhere, a bare id that is shared goes to none (SPEC 11.5)."""
    if len(meant.found) > 1:
        # Even if the registration names one of them: the id had one meaning when it was told, and has several now.
        return None if named is None or named in {listed.registration for listed in meant.found} else named
    if named is None and meant.found and not meant.found[0].descriptor.effect.reads_only:
        return UNLISTED
    return named


def _settled(id: str, port: SurfacePort, outcome: Outcome, registration: str | None, meant: Aim) -> Answer:
    form: dict[str, object] = {"protocol": PROTOCOL, "ok": isinstance(outcome, Ok), "capability": id}
    if outcome.invocation_id:
        form["invocation"] = outcome.invocation_id
    match outcome:
        case Ok():
            if registration is not None or meant.found:
                form["registration"] = registration or meant.found[0].registration
            form["output"] = outcome.output
            if outcome.untrusted:
                form["untrusted"] = untrusted_to_json(outcome.untrusted)
        case Failed():
            form["error"] = refusal(outcome.error)[1]["error"]
        case _:
            assert_never(outcome)
    if outcome.steps is not None:
        form["steps"] = outcome.steps.to_json()
    form |= {"surface": port.surface_id, "version": outcome.surface_version}
    if outcome.surface_changed:
        form["changed"] = True
    return form
