"""What is given in a case, played by remit: a gateway of its own with everything that the case names (SPEC 11.2)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from remit._base.clock import ManualClock
from remit._contract.authority import Authority
from remit._contract.manifest import assemble
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit._model.answers import RecordSet
from remit._model.consumer import Decider, Principal
from remit._policy.context import PolicyContext, ReviewContext
from remit._policy.decision import Deny, Disable, Expose, Hide
from remit._policy.policy import Policy
from remit._session.session import Session
from remit._surface.mount import Mount
from remit.gateway.app import Gateway
from remit.testing.conformance.world import PARTS, Backstage, backend_of

Given = Mapping[str, Any]
AGENT, SECOND = "agent", "second"
AGENT_S = 8
"""How long the token of the agent lives, on a clock that stands still unless the case says so."""

PERSON = Principal("person")
OTHER = Principal("other")


@dataclass
class Rules(Policy, name="given"):
    """What the case hides, disables and denies, by id, and what happens once while a call of an id waits."""

    meets: Callable[[str], Awaitable[None]]

    hidden: set[str] = field(default_factory=set)
    disabled: dict[str, str] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)

    def discover(self, ctx: PolicyContext) -> Expose | Disable | Hide:
        """What is listed, and as what."""
        id = _id(ctx)
        if id in self.hidden:
            return Hide()
        return Disable(self.disabled[id]) if id in self.disabled else Expose()

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        """What runs."""
        return Deny("not today") if _id(ctx) in self.denied else None

    async def review(self, ctx: ReviewContext) -> None:
        """What happens between the permission and the run."""
        await self.meets(_id(ctx))


class Contracts:
    """The contract of the world for each exposure that a case gives, made once."""

    def __init__(self) -> None:
        procedures = backend_of(Backstage())
        listed = [procedures.get(name) for name in procedures.names()]
        self._records = {each.name: record_of(each) for each in listed if each is not None}
        self._rows = [rows_of(part, self._records) for part in PARTS.values()]
        self._made: dict[tuple[str, ...], Authority] = {}

    def exposing(self, *patterns: str) -> Authority:
        """The contract that opens these to the page protocol."""
        authority = self._made.get(patterns)
        if authority is None:
            authority = self._made[patterns] = Authority(
                assemble(
                    [each.block for each in self._rows],
                    [row.block for each in self._rows for row in each.capabilities],
                    self._records,
                    exposure={"page": list(patterns)},
                    policies=[],
                )
            )
        return authority


class Played:
    """One case's site: its application, and the tokens of its callers."""

    def __init__(self, given: Given, contracts: Contracts) -> None:
        self._given = given
        self._stage = Backstage(go_on=self._next)
        self._rules = Rules(
            self._meanwhile, set(given.get("hidden", ())), dict(given.get("disabled", {})), set(given.get("denied", ()))
        )
        self._waiting: dict[str, dict[str, Any]] = dict(given.get("meanwhile", {}))
        self._changes: list[dict[str, Any]] = list(given.get("changes", ()))
        self._mounts: dict[tuple[str, str], Mount] = {}
        self._views: dict[str, Session] = {}
        self._clock = ManualClock()
        self._procedures = backend_of(self._stage)
        self._authority = contracts.exposing(*given.get("exposure", ["view:orders.**", "domain:**"]))
        self._gateway = self._made([self._rules])
        self._records(given.get("records", {}))
        for view in given.get("views", [{"title": "Orders", "route": "/orders", "mounts": []}]):
            self._open(view)
        self.tokens = self._tokens()
        self.app = Starlette(routes=self._gateway.door_routes())

    async def stop(self) -> None:
        """End it."""
        await self._gateway.stop()

    def _made(self, policies: Sequence[Policy] = ()) -> Gateway:
        return Gateway(
            self._authority,
            procedures=self._procedures,
            policies=policies,
            clock=self._clock,
            allowed_hosts=["127.0.0.1"],
        )

    def _tokens(self) -> dict[str, str]:
        scope = self._given.get("scope", ["view:**", "domain:**"])
        only = self._views.get(self._given.get("session", ""))
        session = None if only is None else only.id
        second = self._given.get("second", {}).get("scope", scope)
        gateway = self._gateway
        expired = gateway.delegate(PERSON, actor=AGENT, scope=scope, kind="page", ttl=1)
        self._clock.advance(5)
        good = gateway.delegate(PERSON, actor=AGENT, scope=scope, kind="page", session=session, ttl=AGENT_S)
        tokens = {
            "good": good,
            "expired": expired,
            "other-door": gateway.delegate(PERSON, actor=AGENT, scope=scope, kind="mcp"),
            "other-person": gateway.delegate(OTHER, actor=AGENT, scope=scope, kind="page"),
            "foreign": self._made().delegate(PERSON, actor=AGENT, scope=scope, kind="page"),
            "second": gateway.delegate(PERSON, actor=SECOND, scope=second, kind="page"),
        }
        if "narrowed" in self._given:
            tokens["narrowed"] = gateway.attenuate(good, actor=AGENT, scope=self._given["narrowed"])
        return tokens

    def _open(self, view: Mapping[str, Any]) -> None:
        title = view["title"]
        session = self._views[title] = self._gateway.open_view(
            principal=lambda: PERSON,
            host=lambda: None,
            within=nullcontext,
            title=title,
            route=view.get("route", "/orders"),
        )
        self._gateway.connected(session.id)
        if self._given.get("decider"):
            session.surface.confirmations.attach_page()
        for mount in [*view.get("mounts", ()), {"type": "orders.stage"}]:
            self._mount(session, mount)

    def _mount(self, session: Session, mount: Mapping[str, Any]) -> None:
        kind, instance = mount["type"], mount.get("instance", "default")
        parent = self._mounts.get((mount["parent"], "default")) if "parent" in mount else None
        part = PARTS[kind](self._stage)
        self._mounts[kind, instance] = session.surface.mount(part, instance, parent=parent)

    def _records(self, records: Mapping[str, Any]) -> None:
        seconds = self._given.get("second", {}).get("records", records)
        self._stage.rows = {
            actor: RecordSet(ids=rows.get("ids", ()), offscreen=rows.get("offscreen", ()))
            for actor, rows in ((AGENT, records), (SECOND, seconds))
        }

    async def _meanwhile(self, id: str) -> None:
        for name, value in self._waiting.pop(id, {}).items():
            await self._change(name, value)

    async def _next(self) -> None:
        if not self._changes:
            return
        for name, value in self._changes.pop(0).items():
            await self._change(name, value)

    async def _change(self, name: str, value: Any) -> None:
        first = next(iter(self._views.values()))
        match name:
            case "mount":
                self._mount(first, value)
            case "unmount":
                self._mounts.pop((value["type"], value.get("instance", "default"))).unmount()
            case "hidden" | "disabled" | "denied":
                setattr(self._rules, name, dict(value) if name == "disabled" else set(value))
                first.surface.policies_changed()
            case "records":
                self._records(value)
            case "route":
                first.surface.set_route(value)
            case "close":
                self._gateway.close_view(self._views.pop(value).id)
            case "token" | "handoff" | "decide":
                await self._acted(first, name, value)
            case _:
                raise ValueError(f"there is no change {name!r}")

    async def _acted(self, session: Session, name: str, value: str) -> None:
        """What people do, the host among them."""
        match name, value:
            case "token", "expire":
                self._clock.advance(AGENT_S)
            case "token", _:
                self._gateway.revoke(self.tokens["good"], by="the case", why="it says so")
            case "handoff", _:
                await self._hand(session, done=value == "complete")
            case _:
                await self._decide(session, approve=value == "approve")

    async def _decide(self, session: Session, *, approve: bool) -> None:
        confirmations, person = session.surface.confirmations, Decider(PERSON.id)
        for view in confirmations.pending():
            if approve:
                await confirmations.approve(view.id, person, digest=view.digest)
            else:
                await confirmations.deny(view.id, person)

    async def _hand(self, session: Session, *, done: bool) -> None:
        handoffs, person = session.surface.handoffs, Decider(PERSON.id)
        for view in handoffs.pending():
            if done:
                await handoffs.complete(view.id, person, "paid")
            else:
                await handoffs.decline(view.id, person)


def _id(ctx: PolicyContext) -> str:
    return "" if ctx.capability is None else ctx.capability.id
