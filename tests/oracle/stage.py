"""The product's side of the oracle: a fixed cast of components, policies and operations that answer as the world says.

The world is the application's own state; what the product asks of the application it answers from there.
"""

import asyncio
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from remit import (
    Authority,
    Component,
    Context,
    Procedures,
    ReadContext,
    RecordSet,
    Refused,
    Unavailable,
    action,
    observation,
    reference,
)
from remit._model.effects import Confirmation, Effect, Kind
from remit.errors import ErrorCode
from remit.policies import (
    Decision,
    Deny,
    Disable,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    RequireConfirmation,
    ReviewContext,
)
from tests.behaviour.conftest import authority_of
from tests.oracle.world import Capability, Registration, Stance, World

N = Annotated[int, Field(ge=0, le=3)]
READ, PICK, WIPE = "view:lab.table.read", "view:lab.table.pick", "view:lab.table.wipe"
TAG = "view:lab.table.tag"
SHOW, GO = "view:lab.panel.show", "view:lab.panel.go"
DELETE, QUERY, DROP, SEND = "domain:lab.delete", "domain:lab.query", "domain:lab.drop", "domain:lab.send"
PREDICATED = (PICK, SHOW)
CHECKED = (PICK, WIPE, TAG, GO)


class Bench:
    """Where the code of the application meets the world: what ran, and what happens while the author's check waits."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ran: list[str] = []
        self.meanwhile: Any = None

    def run(self, capability: str) -> int:
        """The code behind a capability."""
        self.ran.append(capability)
        match self.world.handlers.get(capability):
            case "refuse":
                raise Refused("the handler says no")
            case "raise":
                raise RuntimeError("the handler broke")
            case _:
                pass
        return len(self.ran)

    def predicate(self, place: Registration, capability: str) -> Literal[True] | Unavailable:
        """What the author's predicate says."""
        answer = place.predicates.get(capability, True)
        if answer is None:
            raise RuntimeError("the predicate broke")
        return True if answer is True else Unavailable(str(answer))

    async def precondition(self, place: Registration, capability: str) -> Refused | None:
        """What the author's check says; when it has no objection, the world may move while it waits."""
        objection = place.preconditions.get(capability)
        if objection == "raise":
            raise RuntimeError("the check broke")
        if objection is not None:
            return Refused(objection)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            asyncio.get_running_loop().call_soon(meanwhile)
            await asyncio.sleep(0)
        return None


class Rule(Policy, name="rule"):
    """Answers as the world says for its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _stance(self, ctx: PolicyContext) -> Stance:
        bench = cast(Bench, ctx.host)
        return bench.world.stance(self.name, "" if ctx.capability is None else ctx.capability.id)

    def discover(self, ctx: PolicyContext) -> Decision:
        match self._stance(ctx).discover:
            case "disable":
                return Disable(f"{self.name} disables")
            case "hide":
                return Hide()
            case "raise":
                raise RuntimeError("the policy broke")
            case _:
                pass
        return Expose()

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        match self._stance(ctx).authorize:
            case "deny":
                return Deny(f"{self.name} denies")
            case "sign-in":
                return Deny(code=ErrorCode.NOT_AUTHENTICATED)
            case "slow":
                return Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=1_000)
            case "raise":
                raise RuntimeError("the policy broke")
            case _:
                pass
        return None

    async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
        match self._stance(ctx).review:
            case "deny":
                return Deny(f"{self.name} denies")
            case "ask":
                return RequireConfirmation()
            case "raise":
                raise RuntimeError("the policy broke")
            case _:
                pass
        return None


BACKEND = Procedures()


@BACKEND.operation("lab.delete", effect="destructive")
async def delete(ctx: Context, target: str, n: N = 0) -> int:
    """Delete."""
    return cast(Bench, ctx.host).run(DELETE)


@BACKEND.operation("lab.query", effect="server-query")
async def query(ctx: Context, n: N = 0) -> int:
    """Query."""
    return cast(Bench, ctx.host).run(QUERY)


@BACKEND.operation("lab.drop", effect="destructive")
async def drop(ctx: Context, n: N = 0) -> int:
    """Drop."""
    return cast(Bench, ctx.host).run(DROP)


@BACKEND.operation("lab.send", effect="external-side-effect")
async def send(ctx: Context, n: N = 0) -> int:
    """Send."""
    return cast(Bench, ctx.host).run(SEND)


class Table(Component, type="lab.table", policies=(Rule("rule:table"),)):
    """A table."""

    def __init__(self, bench: Bench, place: Registration) -> None:
        self.bench = bench
        self.place = place

    @observation
    def read(self, n: N = 0) -> int:
        """Read."""
        return self.bench.run(READ)

    @action(policies=(Rule("rule:pick"),))
    def pick(self, n: N = 0) -> int:
        """Pick."""
        return self.bench.run(PICK)

    @pick.available
    def can_pick(self) -> Literal[True] | Unavailable:
        return self.bench.predicate(self.place, PICK)

    @pick.precondition
    async def may_pick(self) -> Refused | None:
        return await self.bench.precondition(self.place, PICK)

    @action(confirmation="required", doors=("mcp", "test"))
    async def wipe(self, n: N = 0) -> int:
        """Wipe."""
        return self.bench.run(WIPE)

    @wipe.precondition
    async def may_wipe(self) -> Refused | None:
        return await self.bench.precondition(self.place, WIPE)

    @action(record="row")
    async def tag(self, row: str | int, n: N = 0) -> int:
        """Tag a row."""
        return self.bench.run(TAG)

    @tag.records
    def rows(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=cast("tuple[str | int, ...]", self.place.rows))

    @tag.precondition
    async def may_tag(self) -> Refused | None:
        return await self.bench.precondition(self.place, TAG)

    delete = reference("domain:lab.delete")

    @delete.bind("target")
    def where(self) -> str:
        if self.place.target is None:
            raise RuntimeError("nothing is selected")
        return self.place.target

    query = reference("domain:lab.query")


class Panel(Component, type="lab.panel"):
    """A panel."""

    def __init__(self, bench: Bench, place: Registration) -> None:
        self.bench = bench
        self.place = place

    @observation
    def show(self, n: N = 0) -> int:
        """Show."""
        return self.bench.run(SHOW)

    @show.available
    def can_show(self) -> Literal[True] | Unavailable:
        return self.bench.predicate(self.place, SHOW)

    @action(effect="navigation", source="derived", fidelity="high")
    def go(self, n: N = 0) -> int:
        """Go."""
        return self.bench.run(GO)

    @go.precondition
    async def may_go(self) -> Refused | None:
        return await self.bench.precondition(self.place, GO)

    query = reference("domain:lab.query")
    drop = reference(
        "domain:lab.drop", confirmation="optional", reason="A policy decides", policies=(Rule("rule:drop"),)
    )
    send = reference("domain:lab.send", doors=("page", "embedded"))


OF_TABLE = ("rule:table",)
CAST: dict[str, tuple[type[Component], tuple[Capability, ...]]] = {
    "lab.table": (
        Table,
        (
            Capability(READ, Kind.OBSERVATION, Effect.READ, policies=OF_TABLE),
            Capability(PICK, Kind.ACTION, Effect.LOCAL_STATE, policies=(*OF_TABLE, "rule:pick")),
            Capability(
                WIPE, Kind.ACTION, Effect.LOCAL_STATE, Confirmation.REQUIRED, ("mcp", "test"), policies=OF_TABLE
            ),
            Capability(TAG, Kind.ACTION, Effect.LOCAL_STATE, policies=OF_TABLE, record=True),
            Capability(
                DELETE, Kind.REFERENCE, Effect.DESTRUCTIVE, Confirmation.ALWAYS, policies=OF_TABLE, bound="target"
            ),
            Capability(QUERY, Kind.REFERENCE, Effect.SERVER_QUERY, policies=OF_TABLE),
        ),
    ),
    "lab.panel": (
        Panel,
        (
            Capability(SHOW, Kind.OBSERVATION, Effect.READ),
            Capability(GO, Kind.ACTION, Effect.NAVIGATION, derived=True),
            Capability(QUERY, Kind.REFERENCE, Effect.SERVER_QUERY),
            Capability(DROP, Kind.REFERENCE, Effect.DESTRUCTIVE, Confirmation.OPTIONAL, policies=("rule:drop",)),
            Capability(
                SEND, Kind.REFERENCE, Effect.EXTERNAL_SIDE_EFFECT, Confirmation.ALWAYS, doors=("page", "embedded")
            ),
        ),
    ),
}
ALL = tuple(what for _, declared in CAST.values() for what in declared)
TEMPLATES = tuple(what.id for what in ALL if what.record)
CAPABILITIES = tuple(dict.fromkeys(what.id for what in ALL))
RULES = ("rule:site", "rule:house", "rule:table", "rule:pick", "rule:drop")
EXPOSURES: tuple[dict[str, tuple[str, ...]], ...] = (
    {},
    {"mcp": ("view:lab.**", "domain:lab.*"), "page": ("domain:lab.query",), "derived": ("view:lab.panel.*",)},
    {
        "mcp": ("view:lab.table.*", "domain:lab.delete", "domain:lab.send"),
        "page": ("view:**", "domain:**"),
        "derived": ("view:**",),
    },
)


def authorities() -> tuple[Authority, ...]:
    """The contract of the cast, once for each of the exposures."""
    return tuple(authority_of(Table, Panel, procedures=BACKEND, exposure=exposure) for exposure in EXPOSURES)
