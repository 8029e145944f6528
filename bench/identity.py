"""Whether time tells a hidden capability from an invented one: interleaved pairs, by their medians (SPEC 4.7)."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final

from bench.site import PERSON, Panel, authority_of
from remit import Component, Consumer, Failed, Invocation, Outcome, Restrict, Surface, action
from remit._policy.guard import Guard
from remit._toolset.wire_names import wire_name
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext, only_doors, read_only, require_grant

PAIRS: Final = 5_000
LEAST: Final = 5.0
"""Per cent: the difference that counts as none, unless two invented ids differ by more."""

TAKES_NS: Final = 50_000
"""Nanoseconds that a slow policy of the author takes."""

SLICE: Final = 250
"""Pairs between two collections."""

HIDDEN: Final = "view:bench.hidden.touch"
INVENTED: Final = ("view:bench.absent.touch", "view:bench.vanish.touch", "view:bench.nobody.touch")


class _Hides(Policy, name="hides"):
    """Hides one id, as a surface's own policy."""

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if ctx.capability is not None and ctx.capability.id == HIDDEN else Expose()


class _Slow(Policy, name="slow"):
    """An author's own policy over one component, which takes its time."""

    def discover(self, ctx: PolicyContext) -> Decision:
        until = time.perf_counter_ns() + TAKES_NS
        while time.perf_counter_ns() < until:
            pass
        return Hide()


class _Plain(Component, type="bench.hidden"):
    """Hidden by whatever stands around it."""

    @action
    def touch(self) -> None:
        """Do nothing."""


class _Granted(Component, type="bench.hidden", policies=(require_grant("none"),)):
    """Hidden by a policy of its own."""

    @action
    def touch(self) -> None:
        """Do nothing."""


class _GrantedAction(Component, type="bench.hidden"):
    """Hidden by a policy of the capability."""

    @action(policies=[require_grant("none")])
    def touch(self) -> None:
        """Do nothing."""


class _Elsewhere(Component, type="bench.hidden"):
    """Hidden at every door but one."""

    @action(doors=["page"])
    def touch(self) -> None:
        """Do nothing."""


class _Several(Component, type="bench.hidden", policies=(only_doors("page"), require_grant("none"))):
    """Hidden by several policies."""

    @action(policies=[read_only()])
    def touch(self) -> None:
        """Do nothing."""


class _Own(Component, type="bench.hidden", policies=(_Hides(),)):
    """Hidden by a policy of the author."""

    @action
    def touch(self) -> None:
        """Do nothing."""


class _OwnAndSlow(Component, type="bench.hidden", policies=(_Slow(),)):
    """Hidden by a policy of the author that takes its time."""

    @action
    def touch(self) -> None:
        """Do nothing."""


Ask = Callable[[str], Awaitable[Outcome]]
Spelling = Callable[[Surface, Consumer], Ask]


def _by_id(
    surface: Surface, consumer: Consumer, *, instance: str | None = None, registration: str | None = None
) -> Ask:
    return lambda id: surface.invoke(Invocation(id, instance=instance, registration=registration), consumer)


def _by_verb(surface: Surface, consumer: Consumer) -> Ask:
    tools = surface.connect(consumer).toolset(mode="meta")

    async def ask(id: str) -> Outcome:
        return (await tools.call("surface_act", {"id": id})).outcome

    return ask


def _by_wire_name(surface: Surface, consumer: Consumer) -> Ask:
    tools = surface.connect(consumer).toolset()

    async def ask(id: str) -> Outcome:
        return (await tools.call(wire_name(id))).outcome

    return ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiding:
    """One way in which `HIDDEN` is hidden, and one way of asking for it.

    With `own`, code of the author decides that a made-up id does not have: it takes as long as it takes, and how much
    longer is shown, apart from what is remit's.
    """

    name: str
    component: type[Component] = _Plain
    policies: tuple[Policy, ...] = ()
    guard: Guard | None = None
    scope: tuple[str, ...] = ("view:bench.**",)
    kind: str = "embedded"
    exposure: Mapping[str, Iterable[str]] = field(default_factory=lambda: MappingProxyType({}))
    suspended: bool = False
    spelling: Spelling = _by_id
    own: bool = False

    def stage(self) -> Ask:
        """A surface with the hidden capability and shown ones, and how to ask it."""
        authority = authority_of([self.component, Panel], self.exposure)
        surface = Surface(authority, principal=PERSON, policies=self.policies, guard=self.guard)
        surface.mount(self.component())
        surface.mount(Panel())
        if self.suspended:
            surface.suspend(capability=HIDDEN)
        consumer = Consumer("agent", kind=self.kind, scope=self.scope)
        assert len(surface.snapshot(consumer).capabilities()) == 2
        return self.spelling(surface, consumer)


HIDINGS: Final = (
    Hiding(name="policy of the surface", policies=(_Hides(),)),
    Hiding(name="policy of the component", component=_Granted),
    Hiding(name="policy of the capability", component=_GrantedAction),
    Hiding(name="three policies", component=_Several),
    Hiding(name="a guard's policy", guard=lambda candidate: Restrict(hide=[HIDDEN])),
    Hiding(name="scope", scope=("view:bench.panel.**",)),
    Hiding(name="exposure", kind="mcp", exposure={"mcp": ["view:bench.panel.**"]}),
    Hiding(name="doors of the capability", component=_Elsewhere),
    Hiding(name="suspension", suspended=True),
    Hiding(name="policy, named instance", component=_Granted, spelling=partial(_by_id, instance="main")),
    Hiding(name="policy, stale registration", component=_Granted, spelling=partial(_by_id, registration="reg_none")),
    Hiding(name="policy, by a fixed verb", component=_Granted, spelling=_by_verb),
    Hiding(name="policy, by its wire name", component=_Granted, spelling=_by_wire_name),
    Hiding(name="scope, named instance", scope=("view:bench.panel.**",), spelling=partial(_by_id, instance="main")),
    Hiding(name="own policy", component=_Own, own=True),
    Hiding(name="own policy, 50 us", component=_OwnAndSlow, own=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The medians of two ids that were asked for in turn, in microseconds."""

    first: float
    second: float

    @property
    def apart(self) -> float:
        """The first against the second, in per cent."""
        return (self.first / self.second - 1) * 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What one way of hiding showed: hidden against invented, and two invented ones against each other."""

    name: str
    pairs: int
    hidden: Pair
    invented: Pair
    own: bool = False

    @property
    def bound(self) -> float:
        """Per cent: 5, or what two invented ids differ by, if that is more."""
        return max(LEAST, abs(self.invented.apart))

    @property
    def same(self) -> bool:
        """Whether the medians say nothing of what is hidden."""
        return abs(self.hidden.apart) <= self.bound

    def to_json(self) -> dict[str, object]:
        """The comparison as it stands in the file."""
        return {
            "name": self.name,
            "pairs": self.pairs,
            "unit": "us",
            "hidden": [round(self.hidden.first, 2), round(self.hidden.second, 2)],
            "invented": [round(self.invented.first, 2), round(self.invented.second, 2)],
            "apart": round(self.hidden.apart, 2),
            "bound": round(self.bound, 2),
            "same": self.same,
            "own": self.own,
        }


async def compare(hidings: Sequence[Hiding] = HIDINGS, *, scale: float = 1.0) -> list[Comparison]:
    """Measure every way of hiding; `scale` multiplies the number of pairs."""
    return [await _comparison(hiding, max(2, round(PAIRS * scale))) for hiding in hidings]


async def _comparison(hiding: Hiding, pairs: int) -> Comparison:
    ask = hiding.stage()
    for id in (HIDDEN, *INVENTED):
        await _timed(ask, id)
    hidden: _Times = ([], [])
    invented: _Times = ([], [])
    for begun in range(0, pairs, SLICE):
        slice = range(begun, min(begun + SLICE, pairs))
        for ids, taken in (((HIDDEN, INVENTED[0]), hidden), (INVENTED[1:], invented)):
            if len(slice) == SLICE:  # a run of fewer is a try
                gc.collect()
            for number in slice:
                # Each comes first equally often: what runs first pays for what ran before.
                for which in (0, 1) if number % 2 else (1, 0):
                    taken[which].append(await _timed(ask, ids[which]))
    return Comparison(
        name=hiding.name,
        pairs=pairs,
        hidden=_pair(hidden),
        invented=_pair(invented),
        own=hiding.own,
    )


_Times = tuple[list[int], list[int]]


def _pair(times: _Times) -> Pair:
    first, second = (statistics.median(each) / 1_000 for each in times)
    return Pair(first=first, second=second)


async def _timed(ask: Ask, id: str) -> int:
    now: Callable[[], int] = time.perf_counter_ns
    begun = now()
    answer = await ask(id)
    took = now() - begun
    if not isinstance(answer, Failed) or answer.error.code != "CAPABILITY_NOT_FOUND":
        raise RuntimeError(f"{id}: the answer is wrong: {answer!r:.300}")
    return took


def table(comparisons: Sequence[Comparison]) -> str:
    """The comparisons for reading."""
    lines = [
        f"{'hidden by':<28}{'hidden':>9}{'invented':>10}{'apart':>9}{'invented':>11}{'again':>8}{'apart':>9}  verdict"
    ]
    for each in comparisons:
        hidden, invented = each.hidden, each.invented
        verdict = "the same" if each.same else "the author's own time" if each.own else "told apart"
        lines.append(
            f"{each.name:<28}{hidden.first:>9.1f}{hidden.second:>10.1f}{hidden.apart:>+8.1f}%"
            f"{invented.first:>11.1f}{invented.second:>8.1f}{invented.apart:>+8.1f}%"
            f"  {verdict} (within {each.bound:.1f} %, {each.pairs} pairs)"
        )
    return "\n".join(lines)
