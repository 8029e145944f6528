"""What meta mode sends to a surface, and what it does not ask it. The surface is the script of `test_direct`."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast

import pytest

from remit._base.clock import ManualClock
from remit._model.consumer import Consumer
from remit._model.event import EventListener, EventType
from remit._model.ids import CapabilityId
from remit._model.listing import Snapshot
from remit._model.outcome import Failed
from remit._model.prefix import disjoint
from remit._toolset.calling import ToolCall
from remit._toolset.fixed import ACT, DISCOVER, READ
from remit._toolset.meta import MetaToolset
from remit._toolset.pins import UNLISTED
from remit.errors import stale_capability
from tests.unit._toolset.test_direct import DISABLE, SELECT, ScriptedSurface
from tests.unit._toolset.test_direct import READ as READ_STATE


class CountingSurface(ScriptedSurface):
    """Counts what it is asked for besides calls."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshots = 0
        self.subscribed = 0

    def snapshot(self, consumer: Consumer) -> Snapshot:
        self.snapshots += 1
        return super().snapshot(consumer)

    def subscribe(
        self, listener: EventListener, *, types: Collection[EventType] | None = None, consumer: Consumer | None = None
    ) -> Callable[[], None]:
        self.subscribed += 1
        return super().subscribe(listener, types=types, consumer=consumer)


def toolset(surface: ScriptedSurface, clock: ManualClock | None = None) -> MetaToolset:
    consumer = Consumer("copilot", kind="mcp", scope=["view:**"])
    return MetaToolset(surface, consumer, waits=False, clock=clock or ManualClock())


@pytest.mark.requirement("12.4-envelope")
async def test_a_malformed_envelope_is_answered_before_anything_is_asked_of_the_surface() -> None:
    surface = CountingSurface()
    tools = toolset(surface)
    wrong: Any
    for name, wrong in ((ACT, {}), (READ, []), (DISCOVER, {"querry": "x"}), (DISCOVER, {"ids": "view:a.b"})):
        assert (await tools.call(name, wrong)).is_error
    assert (surface.snapshots, surface.asked) == (0, [])


@pytest.mark.requirement("12.4-three-fixed-tools")
async def test_it_listens_to_nothing_so_it_never_notifies() -> None:
    surface = CountingSurface()
    tools = toolset(surface)
    surface.show("reg_1", READ_STATE, SELECT, DISABLE)
    for name in (DISCOVER, READ, ACT):
        await tools.call(name, {"query": "x"} if name == DISCOVER else {"id": SELECT.id})
    assert surface.subscribed == 0


@pytest.mark.requirement("12.4-surface-read-reads")
async def test_a_read_is_sent_to_the_registration_that_was_seen_to_read() -> None:
    surface = ScriptedSurface()
    tools = toolset(surface)
    await tools.call(READ, {"id": SELECT.id})
    await tools.call(READ, {"id": SELECT.id, "registration": "reg_9"})
    # Nothing visible says that this only reads, so it can reach nothing that becomes visible in between.
    assert [asked.registration for asked in surface.asked] == [UNLISTED, UNLISTED]
    surface.show("reg_1", READ_STATE)
    await tools.call(READ, {"id": READ_STATE.id})
    surface.show("reg_2", READ_STATE, instance="other")
    await tools.call(READ, {"id": READ_STATE.id})
    await tools.call(READ, {"id": READ_STATE.id, "instance": "other"})
    assert [asked.registration for asked in surface.asked[2:]] == ["reg_1", None, "reg_2"]


@pytest.mark.requirement("12.4-no-call-goes-to-a-successor")
async def test_an_id_that_has_gone_is_sent_with_what_it_was_for_as_long_as_a_pin_lasts() -> None:
    surface, clock = ScriptedSurface(), ManualClock()
    tools = toolset(surface, clock)
    surface.show("reg_1", READ_STATE, SELECT)
    await tools.call(DISCOVER, {"prefixes": ["devices"]})
    surface.listed.clear()
    for name, id in ((ACT, SELECT.id), (READ, READ_STATE.id), (READ, SELECT.id)):
        await tools.call(name, {"id": id})
    assert [asked.registration for asked in surface.asked] == ["reg_1", "reg_1", UNLISTED]
    clock.advance(301)
    await tools.call(ACT, {"id": SELECT.id})
    await tools.call(ACT, {"id": SELECT.id, "registration": "reg_1"})
    assert [asked.registration for asked in surface.asked[3:]] == [UNLISTED, "reg_1"]


@pytest.mark.requirement("12.4-surface-act-names-a-registration")
async def test_what_stands_beside_the_arguments_wins_over_what_stands_in_them() -> None:
    surface = ScriptedSurface()
    tools = toolset(surface)
    surface.show("reg_1", SELECT)
    arguments = {"id": SELECT.id, "registration": "reg_a", "instance": "a", "input": {"ids": ["d1"]}}
    call = ToolCall(
        name=ACT,
        arguments=arguments,
        id="call_1",
        registration="reg_b",
        instance="b",
        surface_id="srf_1",
        surface_version="7",
        confirmation="cnf_1",
        correlation_id="trace",
    )
    await tools.invoke(call)
    await tools.invoke(replace(call, registration=None, instance=None))
    first, second = surface.asked
    assert (first.registration, first.instance, first.input) == ("reg_b", "b", {"ids": ["d1"]})
    assert (first.id, first.surface_id, first.surface_version) == ("call_1", "srf_1", "7")
    assert (first.confirmation, first.correlation_id) == ("cnf_1", "trace")
    assert (second.registration, second.instance) == ("reg_a", "a")


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("devices", "devices.table", False),
        ("devices", "device", True),
        ("devices", "view:devices.table.read", False),
        ("view:billing", "devices", True),
        ("view:devices.table", "view:devices", False),
        ("view:devices", "domain:devices", True),
        ("domain:devices", "billing", False),
        ("domain:devices", "domain:devices.disable", False),
        ("domain:devices", "domain:billing", True),
    ],
)
@pytest.mark.requirement("12.4-refused-prefixes-are-named")
def test_prefixes_are_apart_when_no_capability_can_fall_under_both(one: str, other: str, apart: bool) -> None:
    assert disjoint(one, other) is disjoint(other, one) is apart


@pytest.mark.requirement("12.4-no-call-goes-to-a-successor")
async def test_a_stale_answer_about_what_has_gone_shows_nothing() -> None:
    surface = ScriptedSurface()
    tools = toolset(surface)
    surface.answers = [stale_capability("registration-replaced")]
    stale = await tools.call(ACT, {"id": SELECT.id, "registration": "reg_1"})
    assert isinstance(stale.outcome, Failed)
    assert stale.outcome.error == stale_capability("registration-replaced")
    assert stale.registration is None


@pytest.mark.requirement("12.4-what-does-not-fit-is-left-out-by-name")
async def test_an_entry_that_stays_too_large_without_its_texts_is_shown_all_the_same() -> None:
    surface = ScriptedSurface()
    tools = MetaToolset(surface, Consumer("copilot", kind="mcp", scope=["view:**"]), waits=False, budget=8_192)
    long = replace(SELECT, id=CapabilityId("view:" + "a" * 9_000 + ".select"))
    surface.show("reg_1", long, SELECT)
    answer = (await tools.call(DISCOVER, {"query": "select"})).structured
    assert answer is not None
    assert answer["total"] == 2
    shown: Any = answer["capabilities"]
    while "next" in answer:
        answer = (await tools.call(DISCOVER, {"query": "select", "next": answer["next"]})).structured
        assert answer is not None
        shown = [*shown, *list(cast("list[Any]", answer["capabilities"]))]
    (entry,) = (one for one in shown if one["id"] == long.id)
    assert {"inputSchema", "description"} <= set(entry["leftOut"])
    assert "inputSchema" not in entry
    assert {one["id"] for one in shown} == {long.id, SELECT.id}
