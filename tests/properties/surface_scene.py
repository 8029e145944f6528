"""What the surface of the state machine is made of: its components, its policies, its consumers, and what they note."""

import asyncio
from collections import Counter
from typing import Final, Literal

from remit import (
    Component,
    Consumer,
    Context,
    Unavailable,
    action,
    observation,
)
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import authority_of

TYPES: Final = ("open", "locked")
INSTANCES: Final = ("a", "b")
CAPABILITIES: Final = ("view:open.read", "view:open.clear", "view:open.slow", "view:locked.read")
INVENTED: Final = "view:open.invented"
APPROVER: Final = "approves"
AT_WORK: Final = "at work"
REPLAYED_S: Final = 590
"""A little less than the ledger keeps an outcome."""


class Life:
    """What one mounted component tells of its handlers; `over` once its unmount has been seen."""

    def __init__(self, log: "Log") -> None:
        self.over = False
        self.busy = False
        self.log = log
        self.gate = asyncio.Event()


class Log:
    """What ran: by invocation, by evidence, and what should never have."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.wrong: list[str] = []

    def enter(self, life: Life, context: Context, *, approved: bool | None = None) -> None:
        self.entered[context.invocation] += 1
        if life.over:
            self.wrong.append(f"{context.capability} ran after its unmount")
        if context.evidence is not None:
            self.spent[context.evidence] += 1
        if approved is False:
            self.wrong.append(f"{context.capability} ran although nobody may approve it any more")


class Open(Component, type="open"):
    """Open to everybody."""

    def __init__(self, life: Life, grants: set[str]) -> None:
        self.life = life
        self.grants = grants

    @observation
    def read(self, context: Context) -> int:
        """Read."""
        self.life.log.enter(self.life, context)
        return 1

    @read.available
    def is_idle(self) -> Literal[True] | Unavailable:
        return Unavailable(AT_WORK) if self.life.busy else True

    @action(confirmation="required", approver=APPROVER)
    def clear(self, label: str, context: Context) -> str:
        """Clear what has this label."""
        self.life.log.enter(self.life, context, approved=APPROVER in self.grants)
        return context.invocation

    @action
    async def slow(self, context: Context) -> str:
        """Wait for the gate."""
        self.life.log.enter(self.life, context)
        await self.life.gate.wait()
        return context.invocation


class Locked(Component, type="locked", policies=(require_grant("keys"),)):
    """For those with keys."""

    def __init__(self, life: Life) -> None:
        self.life = life

    @observation
    def read(self, context: Context) -> int:
        """Read."""
        self.life.log.enter(self.life, context)
        return 1


class Mood(Policy, name="mood"):
    """Hides or disables what the host says."""

    def discover(self, ctx: PolicyContext) -> Decision:
        mood: dict[str, str] = ctx.host  # type: ignore[assignment]
        match mood.get(ctx.instance or ""):
            case "hide":
                return Hide()
            case "disable":
                return Disable("mood")
            case _:
                return Expose()


class Reached(Policy, name="reached"):
    """Remembers what got as far as authorization."""

    def __init__(self) -> None:
        self.who: set[tuple[str, str | None]] = set()

    async def authorize(self, ctx: PolicyContext) -> None:
        if ctx.capability is not None:
            self.who.add((ctx.capability.id, ctx.instance))


AUTHORITY = authority_of(Open, Locked)
CONSUMERS = (
    Consumer("everything", kind="test"),
    Consumer("narrow", kind="test", scope=["view:open.**"]),
    Consumer("nothing", kind="test", scope=()),
)
