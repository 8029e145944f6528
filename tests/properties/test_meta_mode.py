"""Through the fixed tools what is hidden answers like what was made up, but for the echoed id (SPEC 6.3)."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import Component, Consumer, Failed, Procedures, Surface, action, observation, reference
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import authority_of

backend = Procedures()


@backend.operation("orders.cancel", effect="destructive")
async def cancel_orders(ids: list[str]) -> int:
    """Cancel orders."""
    return len(ids)


class Orders(Component, type="orders.list"):
    """Orders of the customer."""

    @observation
    def read_rows(self) -> list[str]:
        """The rows shown."""
        return ["o-1"]

    @action
    def pick(self, id: str) -> None:
        """Pick an order."""

    cancel = reference("domain:orders.cancel")


class Help(Component, type="help.panel"):
    """What helps with orders."""

    @observation
    def read_topic(self) -> str:
        """The topic shown, of orders or of picking."""
        return "orders"

    @action
    def show(self, topic: str) -> None:
        """Show a topic."""


AUTHORITY = authority_of(Orders, Help, procedures=backend)
HIDDEN = {
    "view:orders.list.readRows": "view:orders.list.readNone",
    "view:orders.list.pick": "view:orders.list.pack",
    "domain:orders.cancel": "domain:orders.borrow",
}
INPUTS: list[object] = [
    None,
    {},
    {"id": "o-1"},
    {"id": 7},
    {"ids": []},
    {"ids": ["o-1"]},
    [],
    "text",
    {"x": {"y": 2.5}},
]
HOWS = ["scope", "policy", "unmounted"]


class Veil(Policy, name="veil"):
    """Hides the orders once it is drawn."""

    def __init__(self) -> None:
        self.drawn = False

    def discover(self, ctx: PolicyContext) -> Decision:
        seen = ctx.capability is None or "orders" not in ctx.capability.id
        return Expose() if seen or not self.drawn else Hide()


class World:
    """A surface on which the orders are hidden in one way from the agent."""

    def __init__(self, how: str, *, shown_before: bool) -> None:
        self.veil = Veil()
        self.surface = Surface(AUTHORITY, principal="operator", policies=[self.veil], procedures=backend)
        self.surface.confirmations.subscribe(lambda view: None)
        self.help = self.surface.mount(Help())
        self.orders = self.surface.mount(Orders(), "main")
        scope = ["view:help.**"] if how == "scope" else None
        self.tools = self.surface.connect(Consumer("agent", kind="test", scope=scope)).toolset(mode="meta")
        self.how, self.shown_before = how, shown_before

    async def draw(self) -> None:
        """Hide them; with `shown_before` only after the agent has been shown them."""
        if self.shown_before and self.how == "policy":
            await self.tools.call("surface_discover", {"ids": list(HIDDEN)})
        self.veil.drawn = self.how == "policy"
        if self.how == "unmounted":
            self.orders.unmount()

    async def ask(self, tool: str, id: str, arguments: dict[str, object]) -> tuple[object, ...]:
        """All that an agent gets, with the id it sent taken out."""
        result = await self.tools.call(tool, {**arguments, "id": id} if tool != "surface_discover" else arguments)
        echoed = result.outcome.capability_id
        return (
            result.text.replace(id, "…"),
            repr(result.structured).replace(id, "…"),
            result.registration,
            result.surface_version,
            "…" if echoed == id else echoed,
            isinstance(result.outcome, Failed),
        )


@st.composite
def calls(draw: st.DrawFn) -> dict[str, object]:
    """What may stand beside the id; registrations by name, since each world has its own."""
    arguments: dict[str, object] = {"input": draw(st.sampled_from(INPUTS))}
    arguments["registration"] = draw(st.sampled_from([None, "own", "help", "reg_made_up", 7]))
    arguments["instance"] = draw(st.sampled_from([None, "main", "other", "orders.list/main", "orders.list/x", ""]))
    return arguments | draw(st.sampled_from([{}, {}, {}, {"mode": "x"}]))


@pytest.mark.requirement("12.4-meta-hidden-is-unknown")
@settings(max_examples=150, deadline=None)
@given(
    how=st.sampled_from(HOWS),
    shown_before=st.booleans(),
    tool=st.sampled_from(["surface_read", "surface_act"]),
    hidden=st.sampled_from(sorted(HIDDEN)),
    arguments=calls(),
    hidden_first=st.booleans(),
)
def test_a_hidden_capability_answers_like_a_made_up_one(
    how: str, shown_before: bool, tool: str, hidden: str, arguments: dict[str, object], hidden_first: bool
) -> None:
    async def run() -> None:
        world = World(how, shown_before=shown_before)
        await world.draw()
        own = {"own": world.orders.registration_id, "help": world.help.registration_id}
        registration = arguments["registration"]
        sent = arguments | {
            "registration": own.get(registration, registration) if isinstance(registration, str) else registration
        }
        order = [hidden, HIDDEN[hidden]] if hidden_first else [HIDDEN[hidden], hidden]
        first, second = [await world.ask(tool, id, sent) for id in order]
        assert first == second
        assert first[-1] is True

    asyncio.run(run())


@pytest.mark.requirement("12.4-from-its-own-listing")
@settings(max_examples=100, deadline=None)
@given(
    how=st.sampled_from(HOWS),
    prefixes=st.lists(
        st.sampled_from(["orders", "help", "view:orders.list", "domain:orders", "view:help"]), max_size=2
    ),
    ids=st.lists(st.sampled_from([*HIDDEN, "view:help.panel.show"]), max_size=2, unique=True),
    query=st.sampled_from([None, "orders", "pick an order", "topic", "cancel", "rows shown"]),
)
def test_discover_shows_no_trace_of_what_is_hidden(
    how: str, prefixes: list[str], ids: list[str], query: str | None
) -> None:
    async def run() -> None:
        world = World(how, shown_before=False)
        await world.draw()
        bare = Surface(AUTHORITY, principal="operator", procedures=backend)
        kept = bare.mount(Help())
        alone = bare.connect(Consumer("agent", kind="test")).toolset(mode="meta")
        asked: dict[str, Any] = {"prefixes": prefixes, "ids": ids, "query": query}
        here, there = (await world.tools.call("surface_discover", asked)), (await alone.call("surface_discover", asked))
        own = ((world.surface, world.help), (bare, kept))
        texts = [
            result.text.replace(surface.surface_id, "srf").replace(str(mount.registration_id), "reg")
            for result, (surface, mount) in zip((here, there), own, strict=True)
        ]
        versions = [f'"surfaceVersion":"{result.surface_version}"' for result in (here, there)]
        assert texts[0].replace(versions[0], "") == texts[1].replace(versions[1], "")

    asyncio.run(run())
