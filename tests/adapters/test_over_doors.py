"""One test body in process and over MCP, in memory and over real HTTP, in both eras (SPEC 16.1)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from remit import (
    Authority,
    Component,
    Consumer,
    Context,
    Decider,
    Ok,
    Procedures,
    Progress,
    Refused,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Decision, Deny, Expose, Policy, PolicyContext, ReviewContext
from remit.testing import Harness, assert_failed, assert_hidden, assert_ok, semantic
from remit.testing.doors import Era
from tests.behaviour.conftest import authority_of

backend = Procedures()
DOORS: list[tuple[str, Era]] = [
    ("test", "modern"),
    ("mcp", "modern"),
    ("mcp", "handshake"),
    ("mcp-http", "modern"),
    ("mcp-http", "handshake"),
    ("page", "modern"),
    ("page-http", "modern"),
]


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str], call: Context) -> int:
    """Disable devices."""
    call.progress(1, 2, "half of it")
    return len(device_ids)


@dataclass
class Table(Component, type="devices.table"):
    """Table of devices."""

    rows: list[str] = field(default_factory=lambda: ["d1", "d2"])
    selected: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None

    @observation
    def read_rows(self) -> list[str]:
        """Visible devices."""
        return self.rows

    @observation
    def drain_rows(self) -> list[str]:
        """An observation that takes what it reads."""
        rows, self.rows = self.rows, []
        return rows

    @action
    def select_rows(self, ids: list[str], mode: str = "replace") -> list[str]:
        """Select."""
        if "d9" in ids:
            raise Refused("d9 is locked", details={"row": "d9"})
        self.selected = ids
        return ids

    @select_rows.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable("There are no rows")

    @action
    def tidy(self) -> None:
        """Return nothing."""

    @action
    def fail(self) -> None:
        """Fail."""
        raise RuntimeError("a secret")

    disable = reference("domain:devices.disable", confirmation="required", approver="fleet-operator")

    @disable.bind("device_ids")
    def _selected(self) -> list[str]:
        return self.selected


LEAD = Decider("lead", {"fleet-operator"})


@pytest.fixture
def authority() -> Authority:
    exposed = ["view:devices.table.*", "domain:**"]
    return authority_of(Table, procedures=backend, exposure={"mcp": exposed, "page": exposed})


@pytest.fixture(params=DOORS, ids=[f"{door}-{era}" for door, era in DOORS])
async def harness(request: pytest.FixtureRequest, authority: Authority) -> AsyncIterator[Harness]:
    door, era = request.param
    async with Harness(authority, principal="operator", procedures=backend) as made:
        yield made.over(door, era=era)


@pytest.mark.requirement("16.1-one-test-body-over-every-door")
async def test_what_succeeds_and_what_is_refused_is_the_same_at_every_door(harness: Harness) -> None:
    table = Table()
    with harness.mount(table) as mounted:
        assert assert_ok(await harness.call(Table.read_rows)) == ["d1", "d2"]
        chosen = await harness.call(Table.select_rows, {"ids": ["d1"]}, id="mine")
        assert isinstance(chosen, Ok)
        assert (chosen.output, chosen.invocation_id, table.selected) == (["d1"], "mine", ["d1"])
        assert chosen.capability_id == "view:devices.table.selectRows"
        assert chosen.surface_version == harness.snapshot().surface_version
        assert assert_ok(await harness.call(Table.tidy)) is None
        refused = assert_failed(await harness.call(Table.select_rows, {"ids": "d1"}), "INVALID_INPUT")
        assert refused.error.details["issues"]
        assert_failed(
            await harness.call(Table.select_rows, {"ids": ["d9"]}), "PRECONDITION_FAILED", details={"row": "d9"}
        )
        assert_failed(await harness.call(Table.fail), "EXECUTION_FAILED", reason="handler-error", outcome="unknown")
        assert_failed(await harness.call("view:devices.table.explode"), "CAPABILITY_NOT_FOUND")
        assert_failed(await harness.call(Table.select_rows, {"ids": ["d2"]}, id="mine"), "INVOCATION_CONFLICT")
        assert_failed(await harness.call(Table.select_rows, {"ids": []}, registration="reg_gone"), "STALE_CAPABILITY")
        mounted.update(available={"select_rows": "loading"})
        assert_failed(await harness.call(Table.select_rows, {"ids": []}), "CAPABILITY_NOT_AVAILABLE", reason="loading")
    assert_failed(await harness.call(Table.select_rows, {"ids": []}), "COMPONENT_UNMOUNTED", phase="resolve")


@pytest.mark.requirement("16.1-one-test-body-over-every-door")
async def test_a_person_decides_at_every_door(harness: Harness) -> None:
    disabled = harness.override(Table.disable, lambda device_ids: 1)
    with harness.mount(Table()):
        assert_ok(await harness.call(Table.select_rows, {"ids": ["d1"]}))
        asked = assert_failed(await harness.call(Table.disable), "CONFIRMATION_REQUIRED")
        assert asked.error.details["confirmation_id"] == harness.pending[0].id
        pending = assert_failed(await harness.call(Table.disable, confirmation=asked), "CONFIRMATION_REQUIRED")
        assert pending.error.details["confirmation_id"] == asked.error.details["confirmation_id"]
        with pytest.raises(PermissionError):
            harness.approve(asked)
        harness.approve(asked, by=LEAD)
        assert_ok(await harness.call(Table.disable, confirmation=asked))
        again = await harness.call(Table.disable, confirmation=asked)
        assert_failed(again, "CONFIRMATION_INVALID", reason="spent")
        asked = assert_failed(await harness.call(Table.disable), "CONFIRMATION_REQUIRED")
        harness.deny(asked, by=LEAD)
        assert_failed(await harness.call(Table.disable, confirmation=asked), "CONFIRMATION_INVALID", reason="denied")
        assert_ok(await harness.call(Table.select_rows, {"ids": ["d2"]}))
        asked = assert_failed(await harness.call(Table.disable), "CONFIRMATION_REQUIRED")
        harness.later(minutes=3)
        assert_failed(await harness.call(Table.disable, confirmation=asked), "CONFIRMATION_INVALID", reason="expired")
    assert disabled.calls == [{"device_ids": ["d1"]}]


@pytest.mark.requirement("16.1-one-test-body-over-every-door", "3.11-the-harness-sees-what-reading-changed")
async def test_observing_tokens_instances_and_other_people_are_the_same_at_every_door(harness: Harness) -> None:
    with harness.mount(Table()):
        token = harness.token(Table.select_rows)
        assert await harness.observe(Table.read_rows) == ["d1", "d2"]
        with pytest.raises(AssertionError, match="available → unavailable"):
            await harness.observe(Table.drain_rows)
    with harness.mount(Table(["d3"])), harness.mount(Table(["d4"]), "second"):
        assert_failed(await harness.call(token, {"ids": []}), "STALE_CAPABILITY", reason="registration-replaced")
        assert assert_ok(await harness.call(Table.read_rows, instance="second")) == ["d4"]
        assert assert_ok(await harness.call(Table.read_rows, instance="default")) == ["d3"]
        auditor = harness.as_("auditor")
        assert auditor.consumer.kind == harness.consumer.kind
        assert auditor is harness.as_("auditor")
        assert_failed(await auditor.call(Table.read_rows), "CAPABILITY_NOT_FOUND")
        with auditor.mount(Table(["d5"])):
            assert assert_ok(await auditor.call(Table.read_rows)) == ["d5"]


@pytest.mark.requirement("16.1-progress-through-the-harness")
async def test_progress_is_heard_at_every_door(authority: Authority) -> None:
    for door, era in DOORS:
        if door.startswith("page"):
            continue  # it has no place for progress
        heard: list[Progress] = []
        async with Harness(authority, principal="operator", procedures=backend, decider="approve") as made:
            harness = made.over(door, era=era)
            with harness.mount(Table(selected=["d1"])):
                assert assert_ok(await harness.call(Table.disable, id="mine", progress=heard.append)) == 1
        assert heard == [Progress(invocation="mine", done=1, total=2, text="half of it")]


class Watch(Policy, name="watch"):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def discover(self, ctx: PolicyContext) -> Decision:
        return Expose()

    async def authorize(self, ctx: PolicyContext) -> None:
        assert ctx.capability is not None
        self.asked.append(("authorize", ctx.capability.id))

    async def review(self, ctx: ReviewContext) -> Deny | None:
        assert ctx.capability is not None
        self.asked.append(("review", ctx.capability.id))
        ids = ctx.input["ids"]
        return Deny("too many") if isinstance(ids, list) and len(ids) > 2 else None


Trace = tuple[list[Any], list[tuple[str, str]], list[Any]]


async def story(authority: Authority, way: tuple[str, Era]) -> tuple[str, Trace]:
    """The same three calls, one way; the kind of consumer, and events, policies asked, and the journal."""
    watch = Watch()
    async with Harness(authority, principal="operator", procedures=backend, policies=[watch]) as made:
        harness = made if way[0] == "embedded" else made.over(way[0], era=way[1])
        calls: list[dict[str, object]] = [{"ids": ["d1"]}, {"ids": ["d1", "d2", "d3"]}, {"ids": 7}]
        with harness.mount(Table()):
            await asyncio.sleep(0)
            before = len(harness.events)
            if way[0] == "embedded":
                tools = made.surface.connect(Consumer("test", kind="embedded")).toolset()
                name = next(each["name"] for each in tools.definitions() if str(each["name"]).endswith("selectRows"))
                for number, input in enumerate(calls):
                    await tools.call(str(name), input, f"call-{number}")
            else:
                for number, input in enumerate(calls):
                    await harness.call(Table.select_rows, input, id=f"call-{number}")
            events = [each for each in harness.events[before:] if each.type != "surface-changed"]
            entries = [each for each in harness.audit if each.type == "invocation"]
    kind = {None if each.consumer is None else each.consumer[0] for each in entries}.pop()
    told = [{**each, "consumer": None} for each in semantic(events)]  # type: ignore[attr-defined]
    journal = [(each.capability, each.invocation, each.code, each.outcome, each.votes) for each in entries]
    return str(kind), (told, watch.asked, journal)


@pytest.mark.requirement("12.8-the-same-course-through-every-door")
async def test_the_same_calls_leave_the_same_events_votes_and_entries_through_every_door(authority: Authority) -> None:
    kind, expected = await story(authority, ("test", "modern"))
    assert kind == "test"
    assert [row[2] for row in expected[2]] == [None, "NOT_AUTHORIZED", "INVALID_INPUT"]
    assert [each[0] for each in expected[1]] == ["authorize", "review", "authorize"] * 2
    assert len(expected[0]) >= 4
    for way in [("embedded", "modern"), *DOORS[1:]]:
        kind, seen = await story(authority, way)
        assert kind == way[0].partition("-")[0]
        assert seen == expected


@pytest.mark.requirement("16.1-a-door-opens-what-the-contract-exposes")
async def test_a_door_shows_what_the_contract_exposes_to_it_and_no_more() -> None:
    narrow = authority_of(Table, procedures=backend, exposure={"mcp": ["view:devices.table.readRows"]})
    async with Harness(narrow, principal="operator", procedures=backend) as harness:
        agent = harness.over("mcp")
        with harness.mount(Table()):
            assert_ok(await harness.call(Table.tidy))
            assert_hidden(agent, Table.tidy)
            assert_failed(await agent.call(Table.tidy), "CAPABILITY_NOT_FOUND")
            assert assert_ok(await agent.call(Table.read_rows)) == ["d1", "d2"]


@pytest.mark.requirement("16.1-what-a-door-cannot-say")
async def test_what_no_agent_can_say_at_a_door_fails_in_that_line(authority: Authority) -> None:
    async with Harness(authority, principal="operator", procedures=backend) as harness:
        agent = harness.over("mcp")
        assert agent is harness.over("mcp") is agent.over("mcp") and agent.over("test") is harness
        with pytest.raises(ValueError, match=r"no door 'smtp'\n  known  test, mcp, mcp-http, page, page-http"):
            harness.over("smtp")
        with pytest.raises(ValueError, match='"modern" or "handshake"'):
            harness.over("mcp", era="old")  # type: ignore[arg-type]
        with harness.mount(Table()), harness.mount(Table(), "second"):
            with pytest.raises(TypeError, match="timeout= is the host's"):
                await agent.call(Table.tidy, timeout=1)
            with pytest.raises(AssertionError, match="one of default, second"):
                await agent.call(Table.tidy)


@pytest.mark.requirement("16.1-one-test-body-over-every-door")
async def test_an_operation_that_nothing_answers_fails_the_test_at_a_door_too(authority: Authority) -> None:
    async with Harness(authority, principal="operator", decider="approve") as harness:
        with harness.mount(Table()), pytest.raises(AssertionError, match="nothing answers it"):
            await harness.over("mcp").call(Table.disable)


@pytest.mark.requirement("16.1-a-test-may-give-up-a-call")
async def test_a_call_that_the_test_gives_up_is_left_at_every_door(harness: Harness) -> None:
    begun, told = asyncio.Event(), asyncio.Event()

    async def hang(device_ids: list[str], call: Context) -> int:
        begun.set()
        await call.cancelled.wait()
        told.set()
        return 0

    harness.override(Table.disable, hang)
    with Harness.of(harness.surface, principal="operator", decider="approve"), harness.mount(Table()):
        asked = assert_failed(await harness.call(Table.disable), "CONFIRMATION_REQUIRED")
        await asyncio.sleep(0)
        calling = asyncio.create_task(harness.call(Table.disable, confirmation=asked))
        await begun.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert_ok(await harness.call(Table.read_rows))
        ended = [entry for entry in harness.audit if entry.code == "CANCELLED" and entry.type == "invocation"]
        assert [entry.outcome for entry in ended] == ["unknown"]


@pytest.mark.requirement("3.6-lone-surrogates-at-the-door")
async def test_what_the_client_of_a_door_cannot_send_says_so_and_leaves_the_door_open(authority: Authority) -> None:
    async with Harness(authority, principal="operator", procedures=backend) as made:
        made.mount(Table())
        agent = made.over("mcp")
        for odd in ("\ud800", {"\ud800": 1}, ["a\udfff"]):
            with pytest.raises(ValueError, match="cannot send a lone surrogate"):
                await agent.call(Table.select_rows, {"ids": odd})
        assert assert_ok(await agent.call(Table.read_rows)) == ["d1", "d2"]
