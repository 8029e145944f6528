"""What is given in a case, played by remit: a gateway of its own with everything that the case names (SPEC 11.2)."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from remit._base.clock import ManualClock
from remit._contract.authority import Authority
from remit._contract.manifest import assemble
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit._model.consumer import Decider, Principal
from remit._policy.context import PolicyContext
from remit._policy.decision import Deny, Disable, Expose, Hide
from remit._policy.policy import Policy
from remit._session.session import Session
from remit._surface.mount import Mount
from remit.gateway.app import Gateway
from remit.testing.conformance.world import PARTS, Backstage, backend_of

Given = Mapping[str, Any]
PERSON = Principal("person")
OTHER = Principal("other")


@dataclass
class Rules(Policy, name="given"):
    """What the case hides, disables and denies, by id."""

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


class Played:
    """One case's site: its application, and the tokens of its callers."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._stage = Backstage(go_on=self._next)
        self._rules = Rules(set(given.get("hidden", ())), dict(given.get("disabled", {})), set(given.get("denied", ())))
        self._changes: list[dict[str, Any]] = list(given.get("changes", ()))
        self._mounts: dict[tuple[str, str], Mount] = {}
        self._views: dict[str, Session] = {}
        clock = ManualClock()
        procedures = backend_of(self._stage)
        self._gateway = Gateway(
            self._authority(), procedures=procedures, policies=[self._rules], clock=clock, allowed_hosts=["127.0.0.1"]
        )
        self._records(given.get("records", {}))
        for view in given.get("views", [{"title": "Orders", "route": "/orders", "mounts": []}]):
            self._open(view)
        scope = given.get("scope", ["view:**", "domain:**"])
        only = self._views.get(given.get("session", ""))
        expired = self._gateway.delegate(PERSON, actor="agent", scope=scope, kind="page", ttl=1)
        clock.advance(5)
        session = None if only is None else only.id
        self.tokens = {
            "good": self._gateway.delegate(PERSON, actor="agent", scope=scope, kind="page", session=session),
            "expired": expired,
            "other-door": self._gateway.delegate(PERSON, actor="agent", scope=scope, kind="mcp"),
            "other-person": self._gateway.delegate(OTHER, actor="agent", scope=scope, kind="page"),
            "foreign": Gateway(self._authority(), procedures=procedures, clock=clock).delegate(
                PERSON, actor="agent", scope=scope, kind="page"
            ),
        }
        self.app = Starlette(routes=self._gateway.door_routes())

    async def stop(self) -> None:
        """End it."""
        await self._gateway.stop()

    def _authority(self) -> Authority:
        procedures = backend_of(self._stage)
        listed = [procedures.get(name) for name in procedures.names()]
        records = {each.name: record_of(each) for each in listed if each is not None}
        rows = [rows_of(part, records) for part in PARTS.values()]
        return Authority(
            assemble(
                [each.block for each in rows],
                [row.block for each in rows for row in each.capabilities],
                records,
                exposure={"page": self._given.get("exposure", ["view:orders.**", "domain:**"])},
                policies=[],
            )
        )

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
        self._stage.ids = list(records.get("ids", ()))
        self._stage.offscreen = list(records.get("offscreen", ()))

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
            case "records":
                self._records(value)
            case "route":
                first.surface.set_route(value)
            case "close":
                self._gateway.close_view(self._views.pop(value).id)
            case "decide":
                await self._decide(first, approve=value == "approve")
            case _:
                raise ValueError(f"there is no change {name!r}")

    async def _decide(self, session: Session, *, approve: bool) -> None:
        confirmations, person = session.surface.confirmations, Decider(PERSON.id)
        for view in confirmations.pending():
            if approve:
                await confirmations.approve(view.id, person, digest=view.digest)
            else:
                await confirmations.deny(view.id, person)


def _id(ctx: PolicyContext) -> str:
    return "" if ctx.capability is None else ctx.capability.id
