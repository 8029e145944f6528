"""Whether time tells a hidden capability from an invented one: interleaved pairs, by their medians (SPEC 4.7)."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.site import PERSON, Panel, authority_of
from remit import Component, Consumer, Failed, Invocation, Surface, action
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext, require_grant

PAIRS: Final = 5_000
LEAST: Final = 5.0
"""Per cent: the difference that counts as none, unless two invented ids differ by more."""

SLICE: Final = 250
"""Pairs between two collections."""

HIDDEN: Final = "view:bench.hidden.touch"
INVENTED: Final = ("view:bench.absent.touch", "view:bench.vanish.touch", "view:bench.nobody.touch")


class _Hides(Policy, name="hides"):
    """Hides one id, as a surface's own policy."""

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if ctx.capability is not None and ctx.capability.id == HIDDEN else Expose()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiding:
    """One way in which `HIDDEN` is hidden."""

    name: str
    component: type[Component] = _Plain
    policies: tuple[Policy, ...] = ()
    scope: tuple[str, ...] = ("view:bench.**",)
    suspended: bool = False

    def stage(self) -> tuple[Surface, Consumer]:
        """A surface with the hidden capability and shown ones, and who asks."""
        surface = Surface(authority_of([self.component, Panel]), principal=PERSON, policies=self.policies)
        surface.mount(self.component())
        surface.mount(Panel())
        if self.suspended:
            surface.suspend(capability=HIDDEN)
        consumer = Consumer("agent", kind="embedded", scope=self.scope)
        assert len(surface.snapshot(consumer).capabilities()) == 2
        return surface, consumer


HIDINGS: Final = (
    Hiding(name="policy of the surface", policies=(_Hides(),)),
    Hiding(name="policy of the component", component=_Granted),
    Hiding(name="scope", scope=("view:bench.panel.**",)),
    Hiding(name="suspension", suspended=True),
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
        }


async def compare(hidings: Sequence[Hiding] = HIDINGS, *, scale: float = 1.0) -> list[Comparison]:
    """Measure every way of hiding; `scale` multiplies the number of pairs."""
    return [await _comparison(hiding, max(2, round(PAIRS * scale))) for hiding in hidings]


async def _comparison(hiding: Hiding, pairs: int) -> Comparison:
    surface, consumer = hiding.stage()
    ids = HIDDEN, INVENTED[0], INVENTED[1], INVENTED[2]
    taken: tuple[list[int], ...] = ([], [], [], [])
    for id in ids:
        await _timed(surface, consumer, id)
    for number in range(pairs):
        if number % SLICE == 0:
            gc.collect()
        # Every place in the order is taken by everybody equally often: what runs first pays for what ran before.
        for place in range(4):
            which = (place + number) % 4 if number % 8 < 4 else (number - place) % 4
            taken[which].append(await _timed(surface, consumer, ids[which]))
    first, second, third, fourth = (statistics.median(times) / 1_000 for times in taken)
    return Comparison(
        name=hiding.name,
        pairs=pairs,
        hidden=Pair(first=first, second=second),
        invented=Pair(first=third, second=fourth),
    )


async def _timed(surface: Surface, consumer: Consumer, id: str) -> int:
    now: Callable[[], int] = time.perf_counter_ns
    begun = now()
    answer = await surface.invoke(Invocation(id), consumer)
    took = now() - begun
    if not isinstance(answer, Failed) or answer.error.code != "CAPABILITY_NOT_FOUND":
        raise RuntimeError(f"{id}: the answer is wrong: {answer!r:.300}")
    return took


def table(comparisons: Sequence[Comparison]) -> str:
    """The comparisons for reading."""
    lines = [
        f"{'hidden by':<26}{'hidden':>9}{'invented':>10}{'apart':>9}{'invented':>11}{'again':>8}{'apart':>9}  verdict"
    ]
    for each in comparisons:
        hidden, invented = each.hidden, each.invented
        verdict = "the same" if each.same else "told apart"
        lines.append(
            f"{each.name:<26}{hidden.first:>9.1f}{hidden.second:>10.1f}{hidden.apart:>+8.1f}%"
            f"{invented.first:>11.1f}{invented.second:>8.1f}{invented.apart:>+8.1f}%"
            f"  {verdict} (within {each.bound:.1f} %, {each.pairs} pairs)"
        )
    return "\n".join(lines)
