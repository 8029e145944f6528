"""Whatever is exposed, held by a scope, mounted and reachable: what is listed as available, and that alone, gets in.

Listed as available is the same as reaching authorization, for every id, instance, registration and spelling; and of a
folded row action a record runs exactly if it is one of those that were counted (SPEC 11.2, 11.6, 4.8).
"""

import asyncio
from collections.abc import Collection
from functools import cache
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import (
    Authority,
    Component,
    Consumer,
    ErrorCode,
    Failed,
    Limits,
    ManualClock,
    Mount,
    Ok,
    ReadContext,
    RecordSet,
    Surface,
    Unavailable,
    action,
    observation,
)
from remit._model.listing import Listed
from remit._model.record import RecordId
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import authority_of


class Page(Component, type="shop.page"):
    """A page."""

    @action
    def print(self) -> None:
        """Print."""


class Rows(Component, type="shop.rows"):
    """Rows of a page."""

    def __init__(self, ids: Collection[RecordId], off: Collection[RecordId], by_function: bool, ready: bool) -> None:
        self.ids = frozenset(ids)
        self.off = self.ids & frozenset(off)
        self.by_function = by_function
        self.ready = ready
        self.ran: list[RecordId] = []

    @observation
    def read(self) -> int:
        """Read."""
        return len(self.ids)

    @action(record="row")
    def mark(self, row: str | int, times: int = 1) -> None:
        """Mark a row."""
        self.ran.append(row)

    @mark.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        if not self.by_function:
            return RecordSet(ids=self.ids, offscreen=self.off)
        known = {(type(id), id) for id in self.ids}
        return RecordSet(total=len(self.ids), offscreen=len(self.off), contains=lambda id: (type(id), id) in known)

    @mark.available
    def may_mark(self) -> Literal[True] | Unavailable:
        return True if self.ready else Unavailable("not ready")


class Watching(Policy, name="watching"):
    """Hides what it is told to, and remembers what reached authorization; asked twice of a call that waits."""

    def __init__(self, hidden: Collection[str]) -> None:
        self.hidden = hidden
        self.reached: set[tuple[str, str]] = set()

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if ctx.capability is not None and ctx.capability.id in self.hidden else Expose()

    async def authorize(self, ctx: PolicyContext) -> None:
        assert ctx.capability is not None and ctx.instance is not None
        self.reached.add((ctx.capability.id, ctx.instance))


PRINT, READ, MARK = "view:shop.page.print", "view:shop.rows.read", "view:shop.rows.mark"
IDS = (PRINT, READ, MARK)
INSTANCES = ("one", "two", "three", "nowhere")
EXPOSED = ("view:**", "view:shop.*.mark", "view:shop.rows.*", "view:shop.page.**", MARK)
SCOPES = (
    *EXPOSED,
    *("region:**", "region:shop.page", "region:shop.page/**", "region:shop.rows", "region:*/shop.rows"),
    *("region:shop.page/shop.page/*", "region:shop.page/shop.page/shop.rows", "view:other.**", "domain:**"),
)
RECORDS: tuple[RecordId, ...] = ("a", "b", "17", 17, 0, -1, "ä", " a")
ASKED: tuple[object, ...] = (*RECORDS, "", "A", "a ", True, False, None, 17.5, ["a"], {"id": "a"}, "x" * 200, "x" * 201)


@cache
def authority(exposed: tuple[str, ...]) -> Authority:
    """The contract of a site that exposes this at its network door."""
    return authority_of(Page, Rows, exposure={"mcp": exposed})


def spelled(id: str, instance: str) -> list[tuple[str, str | None, str | None]]:
    """Other ways to write it, none of which is the id: (capability, instance, registration)."""
    return [
        *((other, instance, None) for other in (id.upper(), f" {id}", f"{id} ", f"{id}.", id.removeprefix("view:"))),
        *((f"{id}@row", None, None), (f"{id}@row#{instance}", None, None), (f"{id}#{instance}", None, None)),
        *((id.replace("view:", "domain:"), instance, None), (f"{id[:-1]}K", instance, None)),
        (id, instance.upper(), None),
    ]


CONSUMERS = st.one_of(
    st.builds(
        lambda scope: Consumer("agent", kind="test", scope=scope),
        st.none() | st.lists(st.sampled_from(SCOPES), max_size=3),
    ),
    st.builds(lambda scope: Consumer("agent", kind="mcp", scope=scope), st.lists(st.sampled_from(SCOPES), max_size=3)),
)
ROWS = st.builds(
    Rows,
    st.lists(st.sampled_from(RECORDS), max_size=4),
    st.lists(st.sampled_from(RECORDS), max_size=3),
    st.booleans(),
    st.booleans(),
)
MOUNTS = st.lists(
    st.tuples(st.one_of(ROWS, st.builds(Page)), st.sampled_from(INSTANCES[:3]), st.booleans(), st.booleans()),
    max_size=5,
)


@pytest.mark.requirement("11.2-listed-is-let-through", "11.6-counted-is-reached")
@settings(max_examples=60, deadline=None)
@given(
    exposed=st.lists(st.sampled_from(EXPOSED), max_size=2).map(tuple),
    narrowed=st.none() | st.dictionaries(st.sampled_from(["test", "mcp"]), st.lists(st.sampled_from(EXPOSED))),
    hidden=st.sets(st.sampled_from(IDS), max_size=1),
    consumer=CONSUMERS,
    mounts=MOUNTS,
)
def test_what_is_listed_as_available_and_only_that_reaches_authorization(
    exposed: tuple[str, ...],
    narrowed: dict[str, list[str]] | None,
    hidden: set[str],
    consumer: Consumer,
    mounts: list[tuple[Component, str, bool, bool]],
) -> None:
    policy = Watching(hidden)
    surface = Surface(
        authority(exposed),
        principal="ada",
        policies=[policy],
        exposure=narrowed,
        clock=ManualClock(),
        limits=Limits(probing=10_000, network_calls=0, network_writes=0),
    )
    live: dict[str, Component] = {}
    parent: Mount | None = None
    for component, instance, enabled, below in mounts:
        mount = surface.mount(component, instance, enabled=enabled, parent=parent if below else None)
        if mount.status == "mounted" and mount.registration_id is not None:
            parent = mount
            live[mount.registration_id] = component
    asyncio.run(_held_against_the_listing(surface, consumer, policy, live))


async def _held_against_the_listing(
    surface: Surface, consumer: Consumer, policy: Watching, live: dict[str, Component]
) -> None:
    listed = {(each.id, each.instance): each for each in surface.snapshot(consumer).capabilities()}
    available = {key for key, each in listed.items() if each.available}
    agent = surface.connect(consumer)
    for id in IDS:
        for instance in INSTANCES:
            policy.reached.clear()
            outcome = await agent.call(id, instance=instance)
            assert policy.reached == {(id, instance)} & available
            if (id, instance) not in listed:
                assert isinstance(outcome, Failed)
                assert outcome.error.code == ErrorCode.CAPABILITY_NOT_FOUND
            for capability, named, registration in spelled(id, instance):
                policy.reached.clear()
                await agent.call(capability, instance=named, registration=registration)
                assert policy.reached == set(), capability
    for registration in live:
        for id in IDS:
            policy.reached.clear()
            await agent.call(id, registration=registration)
            meant = [key for key, each in listed.items() if each.registration == registration and key[0] == id]
            assert policy.reached == set(meant) & available
    for each in listed.values():
        rows = live[each.registration]
        if each.id == MARK and isinstance(rows, Rows):
            await _held_against_the_records(surface, consumer, each, rows)


async def _held_against_the_records(surface: Surface, consumer: Consumer, listed: Listed, rows: Rows) -> None:
    assert listed.records is not None
    assert (listed.records.total, listed.records.offscreen) == (len(rows.ids), len(rows.off))
    reachable = {(type(id), id) for id in rows.ids}
    for record in ASKED:
        rows.ran.clear()
        call = surface.connect(consumer).call(MARK, {"record": record, "times": "2"}, registration=listed.registration)
        outcome = await call
        runs = listed.available and isinstance(record, str | int) and (type(record), record) in reachable
        assert [(type(id), id) for id in rows.ran] == ([(type(record), record)] if runs else [])
        if runs:
            assert isinstance(outcome, Ok)
        elif listed.available:
            assert isinstance(outcome, Failed)
            assert (outcome.error.code, dict(outcome.error.details)) == (ErrorCode.RECORD_UNAVAILABLE, {})
