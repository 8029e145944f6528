"""A server of the page protocol, written against `spec/page-protocol.json` and `spec/page-protocol/README.md` alone."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from tests.servers.access import Access, reaches, steps_of, unavailable
from tests.servers.inputs import judged, needs_person
from tests.servers.messages import METHODS, MOST, OPENED, REQUESTS, TOLD, Refused
from tests.servers.world import Agent, Entry, Site, View


class Door:
    """Serves one site; `access` says who sees what."""

    def __init__(self, site: Site, access: Access, tokens: Mapping[str, Agent]) -> None:
        self.site = site
        self.access = access
        self.tokens = tokens
        self.chosen: dict[Agent, str] = {}
        self.shown: dict[Agent, set[tuple[str, str]]] = {}
        self.missed: dict[Agent, set[str]] = {}
        self.settled: dict[tuple[Agent, str], tuple[str, dict[str, Any]]] = {}
        self.versions: dict[tuple[Agent, View], tuple[str, int]] = {}
        self.flows: dict[tuple[Agent, str, str], tuple[list[Any], str | None]] = {}
        self.streams: dict[asyncio.Queue[dict[str, Any] | None], Agent] = {}
        self._ids = itertools.count(1)
        site.heard = self.heard

    # Transport

    async def serve(self, request: Request) -> Response:
        """One request."""
        path = request.path_params["path"]
        if path not in METHODS:
            return PlainTextResponse("Not Found", 404)
        if request.method != METHODS[path]:
            return PlainTextResponse("Method Not Allowed", 405, {"Allow": METHODS[path]})
        if "origin" in request.headers:
            return PlainTextResponse("this origin is not allowed", 403)
        if path == "socket":
            return PlainTextResponse("Upgrade Required", 426)
        if path == "openapi.json":
            return JSONResponse({"openapi": "3.1.0", "info": {"title": "page protocol", "version": "1"}, "paths": {}})
        agent = self.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if agent is None or not agent.counts or agent.door != "page":
            return PlainTextResponse("a good token of this door is needed", 401)
        if path == "events":
            return StreamingResponse(self.listen(agent), media_type="text/event-stream")
        return await self._verb(path, agent, request)

    async def _verb(self, verb: str, agent: Agent, request: Request) -> Response:
        kind, _, encoding = request.headers.get("content-type", "").partition(";")
        if kind != "application/json" or encoding.strip().lower() not in {"", "charset=utf-8"}:
            return PlainTextResponse("Unsupported Media Type", 415)
        body = await request.body()
        if len(body) > MOST:
            return PlainTextResponse("Content Too Large", 413)
        try:
            asked = self._read(verb, body, request.url.query)
            answer = getattr(self, verb)(agent, asked)
        except Refused as refusal:
            answer = {"ok": False, "error": refusal.error}
        return JSONResponse({"protocol": "remit/1", **answer})

    def _read(self, verb: str, body: bytes, query: str) -> dict[str, Any]:
        try:
            asked = json.loads(body or b"{}", parse_constant=lambda text: float(text.replace("NaN", "no number")))
        except ValueError:
            raise Refused("INVALID_INPUT", issues=[{"path": "", "message": "no JSON"}]) from None
        wrong = ["nothing is read from a query"] if query else [e.message for e in REQUESTS[verb].iter_errors(asked)]
        if wrong:
            raise Refused("INVALID_INPUT", issues=[{"path": "", "message": each} for each in wrong])
        return dict(asked)

    # Views

    def views(self, agent: Agent) -> list[View]:
        """The open views that the agent reaches."""
        own = self.site.views if agent.person == "person" else []
        return [view for view in own if agent.session in {None, view.id}]

    def rows(self, agent: Agent, used: View | None) -> list[dict[str, Any]]:
        """The views as it is told of them."""
        return [
            {
                "view": view.id,
                "title": view.title,
                "route": view.route,
                "opened_at": OPENED.isoformat(),
                "in_use": view is used,
            }
            for view in self.views(agent)
        ]

    def view(self, agent: Agent) -> View:
        """The view it works in."""
        views = self.views(agent)
        wanted = self.chosen.get(agent)
        used = next((view for view in views if view.id == wanted), None)
        if used is None and wanted is not None:
            del self.chosen[agent]
            raise Refused("SURFACE_UNREACHABLE", reason="the chosen view is not open", views=self.rows(agent, None))
        if used is not None:
            return used
        if not views:
            raise Refused("SURFACE_UNREACHABLE", reason="no view is open")
        if len(views) > 1:
            raise Refused("AMBIGUOUS_INSTANCE", views=self.rows(agent, None))
        return views[0]

    # Verbs

    def describe(self, agent: Agent, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What is there."""
        if "view" in asked:
            if asked["view"] not in {view.id for view in self.views(agent)}:
                raise Refused("SURFACE_UNREACHABLE", reason="there is no such open view")
            self.chosen[agent] = asked["view"]
        view = self.view(agent)
        listed = self.access.listed(agent, view)
        self.shown.setdefault(agent, set()).update((each.capability.id, each.part.registration) for each in listed)
        return {
            "ok": True,
            "view": view.id,
            "title": view.title,
            "route": view.route,
            "views": self.rows(agent, view),
            "surface": view.surface,
            "version": self.version(agent, view),
            "capabilities": [self.descriptor(agent, each, listed) for each in listed],
        }

    def descriptor(self, agent: Agent, entry: Entry, listed: list[Entry]) -> dict[str, Any]:
        """One capability as it is told."""
        capability, part = entry.capability, entry.part
        id = capability.id if capability.kind is None else f"{capability.id}@{capability.kind}"
        if sum(each.capability.id == capability.id for each in listed) > 1:
            id = f"{id}#{part.instance}"
        form: dict[str, Any] = {"id": id, "description": capability.id, "effect": capability.effect}
        if capability.fields:
            form["inputSchema"] = capability.schema
        if capability.approval != "none":
            form["approval"] = capability.approval
        if part.parent is not None:
            form["scopePath"] = part.chain[:-1]
        if capability.steps:
            form["flowSteps"] = len(capability.steps)
        if capability.handoff is not None:
            form["handoff"] = {"reason": capability.handoff}
        if capability.kind is not None:
            total, off = self.access.counts(agent)
            form |= {"offscreen": True, "record": {"param": "record", "total": total, "offscreen": off}}
        reason = unavailable(self.site, entry)
        form["available"] = reason is None
        if reason is not None:
            form["reason"] = reason
        return {**form, "registration": part.registration, "instance": part.instance}

    def version(self, agent: Agent, view: View) -> str:
        """How often what it is listed has moved."""
        listed = self.access.listed(agent, view)
        now = repr([(each.capability.id, each.part.registration, unavailable(self.site, each)) for each in listed])
        before, number = self.versions.get((agent, view), (now, 0))
        self.versions[agent, view] = (now, number + (now != before))
        return str(number + (now != before))

    def propose(self, agent: Agent, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing yet."""
        self.view(agent)
        raise Refused("CAPABILITY_NOT_AVAILABLE", reason="not offered")

    def handoff(self, agent: Agent, asked: Mapping[str, Any]) -> dict[str, Any]:
        """How a handoff stands."""
        held = self.site.handoffs.get(asked["handoff"])
        if held is None or held["agent"] is not agent:
            self.view(agent)
            raise Refused("CAPABILITY_NOT_FOUND")
        told: dict[str, Any] = {name: held[name] for name in TOLD if name in held}
        return {"ok": True, "handoff": asked["handoff"], **told}

    def invoke(self, agent: Agent, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A call."""
        view = self.view(agent)
        invocation = asked.get("invocation", f"inv_{next(self._ids)}")
        form = {"capability": asked["capability"], "invocation": invocation, "surface": view.surface}
        try:
            entry = self.meant(agent, view, asked)
            held = self.settled.get((agent, invocation))
            same = json.dumps([asked["capability"], asked.get("input")], sort_keys=True)
            if held is not None and held[0] != same:
                raise Refused("INVOCATION_CONFLICT", reason="another call")
            if held is not None:
                return held[1]
            form |= {"registration": entry.part.registration}
            output = self.run(agent, view, entry, asked, invocation)
            form |= {"ok": True, "output": output, "version": self.version(agent, view)}
            if entry.capability.steps:
                of = len(entry.capability.steps)
                form["steps"] = {"done": of, "of": of}
            self.settled[agent, invocation] = (same, form)
        except Refused as refusal:
            form |= {"ok": False, "error": refusal.error}
            if refusal.steps is not None:
                form["steps"] = refusal.steps
        told = {"invocation": invocation, "capability": asked["capability"], "ok": form["ok"]}
        self.heard("invocation-settled", view, told, agent)
        return form

    # A call

    def meant(self, agent: Agent, view: View, asked: Mapping[str, Any]) -> Entry:
        """The one capability that is meant, and may be called now."""
        id, registration = asked["capability"], asked.get("registration")
        found = self.access.found(agent, view, id)
        if not found:
            raise self._not_there(agent, view, id, registration)
        if asked.get("surface", view.surface) != view.surface:
            raise Refused("STALE_CAPABILITY", reason="surface-reloaded")
        ours = {each.part.registration for each in found}
        if len(found) > 1 and (registration is None or registration in ours):
            raise Refused("AMBIGUOUS_INSTANCE", instances=[each.part.instance for each in found])
        entry = found[0]
        owed = entry.capability.effect != "read" or registration is not None
        if (registration if owed else entry.part.registration) not in ours:
            present = self.descriptor(agent, entry, self.access.listed(agent, view))
            raise Refused("STALE_CAPABILITY", reason="registration-replaced", present=present)
        moved = asked.get("version", now := self.version(agent, view)) != now
        if entry.capability.effect == "destructive" and moved:
            raise Refused("STALE_CAPABILITY", reason="surface-version-mismatch")
        self._check_available(entry)
        return entry

    def _not_there(self, agent: Agent, view: View, id: str, registration: str | None) -> Refused:
        for part in view.gone:
            if registration in {None, part.registration} and (id, part.registration) in self.shown.get(agent, ()):
                return Refused("COMPONENT_UNMOUNTED", phase="resolve")
        missed = self.missed.setdefault(agent, set())
        if len(missed) >= 20:
            return Refused("RATE_LIMITED", reason="probing", retry_after_ms=60_000)
        missed.add(id)
        return Refused("CAPABILITY_NOT_FOUND")

    def _check_available(self, entry: Entry) -> None:
        reason = unavailable(self.site, entry)
        if reason is not None:
            raise Refused("CAPABILITY_NOT_AVAILABLE", reason=reason)
        if entry.capability.id in self.site.denied:
            raise Refused("NOT_AUTHORIZED", origin="client", reason="not today")

    def run(self, agent: Agent, view: View, entry: Entry, asked: Mapping[str, Any], invocation: str) -> Any:
        """Judge the input, ask whom it takes, look again, and run."""
        input = judged(self.site, agent, entry, asked.get("input", {}))
        if entry.capability.handoff is not None:
            raise self._handed(agent, view, entry, input)
        spend = self._confirmed(agent, view, entry, input, asked.get("confirmation"))
        self.site.change(self.site.meanwhile.pop(entry.capability.id, {}))
        self._look_again(agent, view, entry, input)
        if spend is not None:
            spend["status"] = "spent"
        self.heard("invocation-started", view, {"invocation": invocation, "capability": entry.capability.id}, agent)
        if entry.capability.steps:
            return self._flow(agent, view, entry, input, invocation)
        return entry.capability.run(self.site, input)

    def _flow(self, agent: Agent, view: View, entry: Entry, input: dict[str, Any], invocation: str) -> Any:
        """The steps in order; one that waits for a person is where the same call goes on."""
        key = (agent, entry.part.registration, json.dumps([entry.capability.id, input]))
        outputs, waits = self.flows.pop(key, ([], None))
        steps = steps_of(entry)
        try:
            if waits is not None and self.site.handoffs[waits]["status"] == "declined":
                raise Refused("PRECONDITION_FAILED", reason="handoff-declined")
            if waits is not None and self.site.handoffs[waits]["status"] == "completed":
                outputs.append(self.site.handoffs[waits]["data"])
            for number, step in enumerate(steps[len(outputs) :], len(outputs) + 1):
                outputs.append(self._step(agent, view, step, input, f"{invocation}/{number}"))
        except Refused as refusal:
            refusal.steps = {"done": len(outputs), "of": len(steps)}
            if refusal.error["code"] == "HANDOFF_REQUIRED":
                self.flows[key] = outputs, refusal.error["details"]["handoff_id"]
            raise
        return outputs[entry.capability.gives]

    def _step(self, agent: Agent, view: View, step: Entry, input: dict[str, Any], invocation: str) -> Any:
        ok = False
        try:
            if not self.access.still(agent, view, step):
                raise Refused("CAPABILITY_NOT_FOUND")
            self._check_available(step)
            output = self.run(agent, view, step, {"input": input}, invocation)
            ok = True
        finally:
            told = {"invocation": invocation, "capability": step.capability.id, "ok": ok}
            self.heard("invocation-settled", view, told, agent)
        return output

    def _look_again(self, agent: Agent, view: View, entry: Entry, input: Mapping[str, Any]) -> None:
        if not agent.counts:
            raise Refused("NOT_AUTHENTICATED", origin="client")
        if not entry.part.live:
            raise Refused("COMPONENT_UNMOUNTED", phase="mid-flight", outcome="none")
        if not self.access.still(agent, view, entry):
            raise Refused("CAPABILITY_NOT_FOUND")
        self._check_available(entry)
        if entry.capability.kind is not None and not reaches(self.site, agent, input["record"]):
            raise Refused("RECORD_UNAVAILABLE")

    def _handed(self, agent: Agent, view: View, entry: Entry, input: Mapping[str, Any]) -> Refused:
        for id, held in self.site.handoffs.items():
            same = (held["agent"], held["entry"], held["input"]) == (agent, entry, input)
            if same and held["status"] == "pending":
                return Refused("HANDOFF_REQUIRED", handoff_id=id, **self._until(held))
        id = self.site.new("hnd")
        held = self.site.handoffs[id] = {
            "agent": agent,
            "entry": entry,
            "input": input,
            "capability": entry.capability.id,
            "status": "pending",
            "reason": entry.capability.handoff,
            "url": entry.capability.page.format(**input) + f"?handoff={id}",
            "expires_at": (OPENED + timedelta(minutes=30)).isoformat(),
        }
        self.heard("handoff-requested", view, {"handoff_id": id}, agent)
        return Refused("HANDOFF_REQUIRED", handoff_id=id, **self._until(held))

    def _until(self, held: Mapping[str, Any]) -> dict[str, Any]:
        return {key: held[key] for key in ("reason", "url", "expires_at")}

    def _confirmed(
        self, agent: Agent, view: View, entry: Entry, input: Mapping[str, Any], evidence: str | None
    ) -> dict[str, Any] | None:
        if entry.capability.approval == "none":
            return None
        asks = (agent, entry, input)
        if evidence is not None:
            held = self.site.requests.get(evidence)
            if held is None or (held["agent"], held["entry"], held["input"]) != asks:
                raise Refused("CONFIRMATION_INVALID", reason="mismatch")
            if held["status"] in {"denied", "spent"}:
                raise Refused("CONFIRMATION_INVALID", reason=held["status"])
            if held["status"] == "approved":
                return held
        for id, held in self.site.requests.items():
            if held["status"] == "pending" and (held["agent"], held["entry"], held["input"]) == asks:
                raise needs_person(id, entry)
        id = self.site.new("cnf")
        self.site.requests[id] = {"agent": agent, "entry": entry, "input": input, "status": "pending"}
        self.heard("confirmation-requested", view, {"confirmation_id": id}, agent)
        raise needs_person(id, entry)

    # Events

    async def listen(self, agent: Agent) -> AsyncIterator[str]:
        """A stream, until its token has ended."""
        waiting: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        views = self.views(agent)
        for view in views:
            self.version(agent, view)
        self.streams[waiting] = agent
        used = views[0] if len(views) == 1 else None
        waiting.put_nowait({"event": "listening", "data": {"views": self.rows(agent, used)}})
        try:
            while (event := await waiting.get()) is not None:
                yield f"event: {event['event']}\ndata: {json.dumps({'protocol': 'remit/1', **event})}\n\n"
        finally:
            self.streams.pop(waiting, None)

    def heard(self, name: str, view: View | None, data: dict[str, Any], whose: Agent | None) -> None:
        """Something happened; `changed` is what may have moved a listing."""
        for waiting, agent in list(self.streams.items()):
            if name == "changed":
                self._tell_changes(waiting, agent)
            elif view is not None and whose in {None, agent} and self._reaches(agent, view):
                waiting.put_nowait({"event": name, "view": view.id, "surface": view.surface, "data": data})
            if not agent.counts:
                waiting.put_nowait(None)

    def _tell_changes(self, waiting: "asyncio.Queue[dict[str, Any] | None]", agent: Agent) -> None:
        for view in self.views(agent):
            before = self.versions.get((agent, view), ("", 0))[1]
            version = self.version(agent, view)
            if version != str(before):
                told = {"event": "surface-changed", "data": {"version": version}}
                waiting.put_nowait({**told, "view": view.id, "surface": view.surface})

    def _reaches(self, agent: Agent, view: View) -> bool:
        return agent.person == "person" and agent.session in {None, view.id}
