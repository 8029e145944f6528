"""What is hidden is, in every way of asking, what was never there: the same bytes, the same steps, the same reads."""

import asyncio
import gc
import importlib
import json
import pkgutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from types import CodeType, FrameType
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import remit._invocation
from remit import Component, Consumer, Failed, Invocation, Outcome, Surface, action, observation
from remit._base.clock import SystemClock
from remit._toolset.wire_names import wire_name
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext, require_grant
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import authority_of

PHASES: Final = frozenset(
    {"accept", "look_up", "resolve", "authorize", "hand_over", "make", "review", "check", "confirm", "admit"}
    | {"dispatch", "execute", "check_output", "close"}
)
HIDDEN_BY: Final = ("surface policy", "component policy", "scope", "door", "suspension")
SPELLINGS: Final = ("id", "wire name", "wire name of an instance", "surface_read", "surface_act", "preflight")
SEGMENT: Final = st.from_regex(r"[a-z][a-z0-9-]{0,7}", fullmatch=True)
INPUTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"count": 1},
    {"count": "x"},
    {"odd": [1, None]},
    {"count": float("nan")},
)
INVENTED: Final = "view:nothing.at-all.of-this"
ABSENT: Final = "view:gone.set"
"""Of the form of the hidden one, so that reading it is the same work."""


class Counting(Policy, name="counting"):
    """Counts how often it is asked, whatever for, and hides what it was told to."""

    def __init__(self, hides: str | None) -> None:
        self.hides = hides
        self.asked = 0

    def discover(self, ctx: PolicyContext) -> Decision:
        self.asked += 1
        return Hide() if ctx.capability is not None and ctx.capability.id == self.hides else Expose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One way of asking for a capability, but for its id; `own` stands for what is the hidden one's own."""

    spelling: str
    input: dict[str, Any]
    instance: str | None
    registration: str | None
    surface: str | None
    version: str | None
    id: str | None


ASKING: Final = st.builds(
    Asking,
    spelling=st.sampled_from(SPELLINGS),
    input=st.sampled_from(INPUTS),
    instance=st.sampled_from([None, "own", "wrong", "\ud800"]),
    registration=st.sampled_from([None, "own", "stale", "reg_invented"]),
    surface=st.sampled_from([None, "own", "srf_other"]),
    version=st.sampled_from([None, "0", "99"]),
    id=st.sampled_from([None, "mine"]),
)


def standing_still() -> Any:
    """A clock by which nothing takes long: on a busy machine a slow policy is told of, by further functions.

    It has no function of Python's that would be counted.
    """
    return type("StandsStill", (SystemClock,), {"monotonic": staticmethod(repeat(0.0).__next__)})()


class Stage:
    """A surface with one capability hidden in one way, beside one that is shown, and a consumer that asks."""

    def __init__(self, type: str, hidden_by: str) -> None:
        self.id = f"view:{type}.set"

        class Dark(Component, type=type, policies=(require_grant("none"),) if hidden_by == "component policy" else ()):
            """In the dark."""

            @action
            def set(self, count: int = 0) -> None:
                """Set."""

        class Lit(Component, type="lit.part"):
            """In the light."""

            @observation
            def read(self) -> int:
                """Read."""
                return 1

        self.policy = Counting(self.id if hidden_by == "surface policy" else None)
        self.store = MemoryStore()
        kind = "mcp" if hidden_by == "door" else "test"
        scope = ["view:lit.**"] if hidden_by == "scope" else ["view:**"]
        self.consumer = Consumer("agent", kind=kind, scope=scope)
        authority = authority_of(Dark, Lit, exposure={"mcp": ["view:lit.**"]})
        self.surface = Surface(
            authority, principal="person", policies=[self.policy], store=self.store, clock=standing_still()
        )
        gone = self.surface.mount(Dark(), "own")
        self.stale = str(gone.registration_id)
        gone.unmount()
        self.registration = str(self.surface.mount(Dark(), "own").registration_id)
        self.surface.mount(Lit())
        if hidden_by == "suspension":
            self.surface.suspend(capability=self.id)
        assert [each.id for each in self.surface.snapshot(self.consumer).capabilities()] == ["view:lit.part.read"]

    async def ask(self, id: str, how: Asking) -> str:
        """Ask for this id; what came back, with the id taken out of it."""
        own = {"own": self.registration, "stale": self.stale}
        registration = None if how.registration is None else own.get(how.registration, how.registration)
        surface = self.surface.surface_id if how.surface == "own" else how.surface
        match how.spelling:
            case "id" | "preflight":
                request = Invocation(
                    id,
                    how.input,
                    id=how.id,
                    instance=how.instance,
                    registration=registration,
                    surface_id=surface,
                    surface_version=how.version,
                )
                if how.spelling == "preflight":
                    return told(id, repr(await self.surface.preflight(request, self.consumer)))
                return told(id, shown(await self.surface.invoke(request, self.consumer)))
            case "surface_read" | "surface_act":
                meta = self.surface.connect(self.consumer).toolset(mode="meta")
                asked = {"id": id, "input": how.input, "instance": how.instance, "registration": registration}
                given = {name: value for name, value in asked.items() if value is not None}
                answer = await meta.call(how.spelling, given, how.id)
            case _:
                instance = how.instance if how.spelling == "wire name of an instance" else None
                name = wire_name(id, instance)
                answer = await self.surface.connect(self.consumer).toolset().call(name, how.input, how.id)
                return told(name, told(id, f"{answer.text} {shown(answer.outcome)}"))
        return told(id, f"{answer.text} {shown(answer.outcome)}")


def told(id: str, text: str) -> str:
    """The text without the echoed id."""
    return text.replace(json.dumps(id)[1:-1], "<id>")


def shown(outcome: Outcome) -> str:
    """Every part of an answer but the id that was made for this call."""
    assert isinstance(outcome, Failed), outcome
    return repr(replace(outcome, invocation_id="inv"))


@cache
def watched() -> frozenset[CodeType]:
    """The code of every phase, and of every method of the store."""
    found = {function.__code__ for function in vars(MemoryStore).values() if hasattr(function, "__code__")}
    for module in pkgutil.iter_modules(remit._invocation.__path__):
        names = vars(importlib.import_module(f"remit._invocation.{module.name}"))
        found |= {value.__code__ for name, value in names.items() if name in PHASES and hasattr(value, "__code__")}
    return frozenset(found)


@contextmanager
def traced() -> Iterator[list[str]]:
    """The phases and the methods of the store that run meanwhile, in order."""
    steps: list[str] = []
    codes = watched()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            steps.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        yield steps
    finally:
        sys.setprofile(None)


async def observed(stage: Stage, ask: Callable[[], Awaitable[str]]) -> tuple[str, list[str], int]:
    """The answer, the trace, and how often the surface's policy was asked."""
    before = stage.policy.asked
    with traced() as steps:
        answer = await ask()
    return answer, steps, stage.policy.asked - before


@pytest.mark.requirement("4.7-identity-proof")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(segments=st.lists(SEGMENT, min_size=1, max_size=3), hidden_by=st.sampled_from(HIDDEN_BY), how=ASKING)
def test_a_hidden_capability_is_an_invented_one_in_every_byte_and_every_step(
    segments: list[str], hidden_by: str, how: Asking
) -> None:
    async def compare() -> None:
        stage = Stage(".".join(["dark", *segments]), hidden_by)
        stage.surface.snapshot(stage.consumer)
        other = replace(how, id=None if how.id is None else "another")
        hidden = await observed(stage, lambda: stage.ask(stage.id, how))
        invented = await observed(stage, lambda: stage.ask(INVENTED, other))
        assert hidden[0].replace("mine", "another") == invented[0]
        assert hidden[1:] == invented[1:]
        assert stage.id not in hidden[0]

    asyncio.run(compare())


async def test_the_trace_sees_steps_and_reads() -> None:
    stage = Stage("dark", "scope")
    with traced() as steps:
        await stage.surface.invoke(Invocation("view:lit.part.read"), stage.consumer)
    assert steps[:4] == ["accept", "look_up", "resolve", "authorize"] and steps[-1].endswith("close")
    with traced() as steps:
        await stage.store.get("cnf_none")
    assert steps == ["MemoryStore.get"]


async def test_a_capability_that_is_shown_is_told_apart_from_an_invented_one() -> None:
    stage = Stage("dark", "scope")
    stage.consumer = Consumer("other", kind="test")
    how = Asking(
        spelling="id", input={"count": "x"}, instance=None, registration=None, surface=None, version=None, id=None
    )
    shown_one = await observed(stage, lambda: stage.ask(stage.id, how))
    invented = await observed(stage, lambda: stage.ask(INVENTED, how))
    assert shown_one[0] != invented[0] and shown_one[1] != invented[1]


@contextmanager
def counted() -> Iterator[list[str]]:
    """Every function of Python that is called meanwhile, in order."""
    called: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)

    gc.collect()
    gc.disable()  # what the collector finds of other tests calls functions, too
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        gc.enable()


@pytest.mark.requirement("4.7-same-work")
@pytest.mark.parametrize("hidden_by", HIDDEN_BY)
@pytest.mark.parametrize("instance", [None, "own"])
async def test_a_hidden_id_is_answered_by_as_many_functions_as_an_invented_one(
    hidden_by: str, instance: str | None
) -> None:
    stage = Stage("dark", hidden_by)
    stage.surface.snapshot(stage.consumer)
    counts: dict[str, int] = {}
    for id in (stage.id, ABSENT):
        request = Invocation(id, instance=instance)
        await stage.surface.invoke(request, stage.consumer)  # what is remembered is remembered by then
        with counted() as called:
            answer = await stage.surface.invoke(request, stage.consumer)
        assert isinstance(answer, Failed)
        counts[id] = len(called)
    # A policy of a component is one function; the way to it and from it is the same.
    assert abs(counts[stage.id] - counts[ABSENT]) <= 2, counts
    assert counts[ABSENT] > 50
