"""The application of the cases of conformance, as `spec/page-protocol/README.md` tells it; without remit."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT40 = {"type": "string", "maxLength": 40}
AMOUNT = {"type": "integer", "minimum": 1, "maximum": 100}


@dataclass(frozen=True)
class Capability:
    """One row of the table of the world; `run` gives its output."""

    id: str
    effect: str
    run: Callable[["Site", dict[str, Any]], Any]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    approval: str = "none"
    kind: str | None = None
    handoff: str | None = None
    page: str = "/orders/{record}/pay"
    steps: tuple[str, ...] = ()
    gives: int = -1
    """Of a flow: the step whose output is its own."""

    @property
    def schema(self) -> dict[str, Any]:
        """What its input has to be, without the record."""
        needed = [name for name, each in self.fields.items() if "default" not in each]
        return {"type": "object", "properties": dict(self.fields), "required": needed, "additionalProperties": False}


@dataclass(eq=False)
class Part:
    """A component that is mounted."""

    type: str
    instance: str
    parent: "Part | None"
    registration: str
    live: bool = True

    @property
    def chain(self) -> list[str]:
        """The types from the outermost parent to itself."""
        return [*([] if self.parent is None else self.parent.chain), self.type]


@dataclass(eq=False)
class View:
    """An open view of the person."""

    id: str
    title: str
    route: str
    parts: list[Part] = field(default_factory=list)
    gone: list[Part] = field(default_factory=list)

    @property
    def surface(self) -> str:
        """Its surface."""
        return f"srf_{self.id}"


@dataclass(frozen=True)
class Entry:
    """One capability of one part."""

    capability: Capability
    part: Part


@dataclass(eq=False)
class Agent:
    """Who a token stands for."""

    name: str
    scope: list[str]
    person: str = "person"
    door: str = "page"
    session: str | None = None
    parent: "Agent | None" = None
    good: bool = True

    @property
    def counts(self) -> bool:
        """Whether it is good still, and every one it was narrowed from."""
        return self.good and (self.parent is None or self.parent.counts)


def _noted(name: str, output: Callable[[dict[str, Any]], Any]) -> Callable[["Site", dict[str, Any]], Any]:
    def run(site: "Site", input: dict[str, Any]) -> Any:
        site.ran.append({"capability": name, "input": input})
        return output(input)

    return run


def _set_filter(site: "Site", input: dict[str, Any]) -> None:
    site.ran.append({"capability": "setFilter", "input": input})
    site.filter = input["text"]


ORDER = {"order": {"type": "string"}}


def _flow(id: str, *steps: str, gives: int = -1) -> Capability:
    own = tuple(f"view:orders.work.{step}" for step in steps)
    return Capability(id, "write", lambda site, input: None, ORDER, steps=own, gives=gives)


WORLD: dict[str, list[Capability]] = {
    "orders.page": [Capability("view:orders.page.readTitle", "read", lambda site, input: "Orders")],
    "orders.list": [
        Capability("view:orders.list.readFilter", "read", lambda site, input: site.filter),
        Capability("view:orders.list.setFilter", "write", _set_filter, {"text": TEXT40}),
        Capability("view:orders.list.clear", "write", _noted("clear", lambda input: None), approval="ask"),
        Capability(
            "view:orders.list.updateNote",
            "write",
            _noted("updateNote", lambda input: None),
            {"note": TEXT40},
            kind="order",
        ),
        Capability("domain:orders.ship", "write", _noted("ship", lambda input: input["order"]), ORDER),
        Capability(
            "domain:orders.cancel",
            "destructive",
            _noted("cancel", lambda input: input["order"]),
            ORDER,
            approval="always",
        ),
    ],
    "orders.form": [
        Capability(
            "view:orders.form.submit",
            "write",
            _noted("submit", lambda input: input["amount"]),
            {"amount": AMOUNT, "memo": {"type": "string", "maxLength": 20, "default": ""}},
        )
    ],
    "orders.payment": [
        Capability(
            "view:orders.payment.pay",
            "write",
            _noted("pay", lambda input: "paid"),
            {"amount": {**AMOUNT, "default": 1}},
            kind="order",
            handoff="Customers enter their card",
        )
    ],
    "orders.work": [
        Capability("view:orders.work.pick", "write", _noted("pick", lambda input: None), ORDER),
        Capability("view:orders.work.label", "write", _noted("label", lambda input: input["order"]), ORDER),
        Capability(
            "view:orders.work.sign",
            "write",
            _noted("sign", lambda input: "paid"),
            ORDER,
            handoff="Drivers sign for what they take",
            page="/orders/sign",
        ),
        _flow("view:orders.work.send", "pick", "label"),
        _flow("view:orders.work.handOver", "pick", "sign", "label", gives=1),
    ],
    "orders.stage": [
        Capability("view:orders.stage.readRuns", "read", lambda site, input: list(site.ran)),
        Capability("view:orders.stage.goOn", "write", lambda site, input: site.go_on()),
    ],
}


class Site:
    """What one case gives, as it is now; `heard` is told what happens: its name, where, and what there is to say."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.exposure: list[str] = given.get("exposure", ["view:orders.**", "domain:**"])
        self.decider: bool = given.get("decider", False)
        self.hidden = set(given.get("hidden", ()))
        self.disabled: dict[str, str] = given.get("disabled", {})
        self.denied = set(given.get("denied", ()))
        self.meanwhile = dict(given.get("meanwhile", {}))
        self.changes = list(given.get("changes", ()))
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.ran: list[dict[str, Any]] = []
        self.filter: str = ""
        self.version = 0
        self.requests: dict[str, dict[str, Any]] = {}
        self.handoffs: dict[str, dict[str, Any]] = {}
        self.heard: Callable[[str, View | None, dict[str, Any], Agent | None], None] = lambda *told: None
        self._ids = itertools.count(1)
        self.views: list[View] = []
        self._records(given.get("records", {}))
        for view in given.get("views", [{"title": "Orders", "route": "/orders", "mounts": []}]):
            self._open(view)
        self.agents = self._agents()

    def new(self, prefix: str) -> str:
        """An id that was not there before."""
        return f"{prefix}_{next(self._ids)}"

    def go_on(self) -> None:
        """The next change happens."""
        if self.changes:
            self.change(self.changes.pop(0))

    def change(self, changes: Mapping[str, Any]) -> None:
        """These things happen."""
        for name, value in changes.items():
            getattr(self, f"_do_{name}")(value)
            self.version += 1
            self.heard("changed", None, {}, None)

    def _agents(self) -> dict[str, Agent]:
        scope = self.given.get("scope", ["view:**", "domain:**"])
        only = next((view.id for view in self.views if view.title == self.given.get("session")), None)
        good = Agent("agent", scope, session=only)
        agents = {
            "good": good,
            "expired": Agent("agent", scope, good=False),
            "other-door": Agent("agent", scope, door="mcp"),
            "other-person": Agent("stranger", scope, person="other"),
            "second": Agent("second", self.given.get("second", {}).get("scope", scope)),
        }
        if "narrowed" in self.given:
            agents["narrowed"] = Agent("narrowed", self.given["narrowed"], session=only, parent=good)
        return agents

    def _open(self, given: Mapping[str, Any]) -> None:
        view = View(self.new("vew"), given["title"], given["route"])
        self.views.append(view)
        for mount in [*given["mounts"], {"type": "orders.stage"}]:
            self._mount(view, mount)

    def _mount(self, view: View, mount: Mapping[str, Any]) -> None:
        parent = next((part for part in view.parts if part.type == mount.get("parent")), None)
        view.parts.append(Part(mount["type"], mount.get("instance", "default"), parent, self.new("reg")))

    def _records(self, records: Mapping[str, Any]) -> None:
        second = self.given.get("second", {}).get("records", records)
        self.rows = {"agent": records, "narrowed": records, "second": second}

    def _do_mount(self, mount: Mapping[str, Any]) -> None:
        self._mount(self.views[0], mount)

    def _do_unmount(self, mount: Mapping[str, Any]) -> None:
        view, named = self.views[0], (mount["type"], mount.get("instance", "default"))
        part = next(part for part in view.parts if (part.type, part.instance) == named)
        part.live = False
        view.parts.remove(part)
        view.gone.append(part)

    def _do_hidden(self, ids: list[str]) -> None:
        self.hidden = set(ids)

    def _do_disabled(self, reasons: dict[str, str]) -> None:
        self.disabled = reasons

    def _do_denied(self, ids: list[str]) -> None:
        self.denied = set(ids)

    def _do_records(self, records: Mapping[str, Any]) -> None:
        self._records(records)

    def _do_route(self, route: str) -> None:
        self.views[0].route = route
        self.heard("route-changed", self.views[0], {"route": route}, None)

    def _do_close(self, title: str) -> None:
        view = next(view for view in self.views if view.title == title)
        self.views.remove(view)
        for part in view.parts:
            part.live = False
        self.heard("session-closed", view, {"title": title}, None)

    def _do_token(self, end: str) -> None:
        self.agents["good"].good = False

    def _do_decide(self, how: str) -> None:
        for id, request in self.requests.items():
            if request["status"] == "pending":
                request["status"] = "approved" if how == "approve" else "denied"
                told = {"confirmation_id": id, "status": request["status"]}
                self.heard("confirmation-resolved", self.views[0], told, request["agent"])

    def _do_handoff(self, how: str) -> None:
        for id, handoff in self.handoffs.items():
            if handoff["status"] == "pending":
                handoff |= {"status": "completed", "data": "paid"} if how == "complete" else {"status": "declined"}
                told = {"handoff_id": id, "status": handoff["status"]}
                self.heard("handoff-resolved", self.views[0], told, handoff["agent"])
