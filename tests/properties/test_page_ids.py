"""At the page protocol, whatever is exposed, in scope, derived, handed over and mounted: a listed id gets in.

An id of every way to write it, with every registration, reaches authorization exactly if describe lists what it means
as available, it means one thing alone, and the registration is the one that was listed (SPEC 11.2, 11.5).
"""

import asyncio
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from remit import (
    Authority,
    Component,
    Handoff,
    Limits,
    ManualClock,
    Principal,
    ReadContext,
    RecordSet,
    action,
    observation,
)
from remit.gateway import Gateway
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext
from tests.adapters.page_client import Form, PageClient
from tests.behaviour.conftest import authority_of


class Desk(Component, type="shop.desk"):
    """A desk with rows."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def write(self) -> None:
        """Write."""

    @action(record="row")
    def mark(self, row: str) -> None:
        """Mark a row."""

    @action(record="row", handoff=Handoff("Customers enter their card", to="/rows/{row}/pay"))
    def pay(self, row: str) -> None:
        """Pay for a row."""

    @action(source="derived", effect="local-state")
    def guess(self) -> None:
        """Do what a form was thought to do."""

    @mark.records
    def _marked(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=["a"])

    @pay.records
    def _paid(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=["a"])


class Shelf(Desk, type="shop.shelf"):
    """The same in another place."""


class Watching(Policy, name="watching"):
    """Hides and disables what it is told to, and remembers what reached authorization."""

    def __init__(self, hidden: Collection[str], disabled: Collection[str]) -> None:
        self.hidden = hidden
        self.disabled = disabled
        self.reached: set[tuple[str, str]] = set()

    def discover(self, ctx: PolicyContext) -> Decision:
        id = "" if ctx.capability is None else ctx.capability.id
        return Hide() if id in self.hidden else Disable("not now") if id in self.disabled else Expose()

    async def authorize(self, ctx: PolicyContext) -> None:
        assert ctx.capability is not None and ctx.instance is not None
        self.reached.add((ctx.capability.id, ctx.instance))


IDS = [f"view:shop.{part}.{name}" for part in ("desk", "shelf") for name in ("read", "write", "mark", "pay", "guess")]
KINDS = {id: "row" for id in IDS if id.endswith(("mark", "pay"))}
PATTERNS = (
    *["view:**"] * 4,
    "view:shop.desk.*",
    "view:shop.*.mark",
    "view:shop.*.guess",
    "view:shop.shelf.**",
    *IDS[3:5],
)
SCOPES = (*PATTERNS, "region:shop.desk", "region:shop.desk/**", "region:*/shop.shelf", "domain:**")
INSTANCES = ("one", "two")


@cache
def authority(exposed: tuple[str, ...], derived: tuple[str, ...]) -> Authority:
    """The contract of a site that exposes this."""
    return authority_of(Desk, Shelf, exposure={"page": exposed, "derived": derived})


def ways(id: str, instance: str) -> set[str]:
    """Every way to write a capability of an instance: with its kind or without, with its instance or without."""
    return {f"{id}{kind}{end}" for kind in ("", f"@{KINDS[id]}" if id in KINDS else "") for end in ("", f"#{instance}")}


def texts(id: str) -> list[str]:
    """Ways to write an id, good ones and others."""
    ends = ["", "@row", "@order", "@", "#", "#nowhere", "@row#", *(f"#{each}" for each in INSTANCES)]
    odd = [id.upper(), f" {id}", f"{id} ", f"{id}\n", id.replace("view:", "domain:"), id.removeprefix("view:")]
    return [f"{id}{end}" for end in ends] + [f"{id}@row#{each}" for each in INSTANCES] + odd


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One site, one agent of it, and the texts it asks for."""

    exposed: tuple[str, ...]
    derived: tuple[str, ...]
    scope: list[str]
    hidden: set[str]
    disabled: set[str]
    mounts: list[tuple[type[Desk], str, bool, bool]]
    asked: list[str]
    confirms: bool


DRAWN = st.builds(
    Drawn,
    exposed=st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2).map(tuple),
    derived=st.lists(st.sampled_from(PATTERNS), max_size=1).map(tuple),
    scope=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=3),
    hidden=st.sets(st.sampled_from(IDS), max_size=1),
    disabled=st.sets(st.sampled_from(IDS), max_size=1),
    mounts=st.lists(
        st.tuples(st.sampled_from([Desk, Shelf]), st.sampled_from(INSTANCES), st.booleans(), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    asked=st.lists(st.sampled_from([text for id in IDS for text in texts(id)]), min_size=12, max_size=12),
    confirms=st.booleans(),
)


@pytest.mark.requirement("11.5-listed-is-let-through-by-its-id")
@settings(max_examples=30, deadline=None)
@given(drawn=DRAWN)
def test_an_id_reaches_authorization_exactly_if_describe_lists_it_as_available(drawn: Drawn) -> None:
    policy = Watching(drawn.hidden, drawn.disabled)
    limits = Limits(probing=10_000, network_calls=0, network_writes=0)
    gateway = Gateway(authority(drawn.exposed, drawn.derived), policies=[policy], clock=ManualClock(), limits=limits)
    ada = Principal("ada")
    view = gateway.open_view(principal=lambda: ada, host=lambda: None, within=nullcontext, title="Shop", route="/")
    gateway.connected(view.id)
    if drawn.confirms:
        view.surface.confirmations.attach_page()
    parent = None
    for part, instance, enabled, below in drawn.mounts:
        mount = view.surface.mount(part(), instance, enabled=enabled, parent=parent if below else None)
        parent = mount if mount.status == "mounted" else parent
    token = gateway.delegate(ada, actor="agent", scope=drawn.scope, kind="page")
    asyncio.run(_held_against_describe(gateway, token, policy, drawn.asked))


async def _held_against_describe(gateway: Gateway, token: str, policy: Watching, asked: list[str]) -> None:
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=Starlette(routes=gateway.door_routes())),
        base_url="http://localhost/remit/page",
        headers={"Authorization": f"Bearer {token}"},
    ) as http:
        client = PageClient(http)
        listed: list[Form] = (await client.describe())["capabilities"]
        by_bare = {text: [form for form in listed if text in ways(_bare(form), form["instance"])] for text in asked}
        for form in listed:
            await _call(client, policy, form["id"], form["registration"], form if form["available"] else None)
        for text, meant in by_bare.items():
            for registration in {form["registration"] for form in listed} | {"reg_made-up"}:
                fits = len(meant) == 1 and meant[0]["registration"] == registration and meant[0]["available"]
                await _call(client, policy, text, registration, meant[0] if fits else None, found=bool(meant))
    await gateway.stop()


async def _call(
    client: PageClient, policy: Watching, id: str, registration: str, runs: Form | None, *, found: bool = True
) -> None:
    policy.reached.clear()
    given = {"record": "a"} if "mark" in id or "pay" in id else {}
    answer = await client.invoke(id, given, registration=registration)
    assert policy.reached == (set() if runs is None else {(_bare(runs), runs["instance"])}), (id, answer)
    if not found:
        assert answer["error"]["code"] == "CAPABILITY_NOT_FOUND", (id, answer)


def _bare(form: Form) -> str:
    return str(form["id"]).partition("@")[0].partition("#")[0]
