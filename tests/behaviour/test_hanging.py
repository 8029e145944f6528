"""What hangs ends within its deadline; what exits, or cannot be entered, says what is known (SPEC 4.0, 5.2, 5.6)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from typing_extensions import Unpack

from remit import (
    Approved,
    Component,
    ConfirmationView,
    ManualClock,
    Procedures,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Decision, Expose, Policy, PolicyContext, ReviewContext
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationChanges, ConfirmationRow
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Safe(Component, type="safe"):
    """A safe."""

    def __init__(self) -> None:
        self.opened = 0

    @action(confirmation="required")
    def open(self) -> None:
        """Open."""
        self.opened += 1

    @observation
    def look(self) -> int:
        """Look."""
        return self.opened


class Stuck(MemoryStore):
    """A store of which some methods never return."""

    def __init__(self, *stuck: str) -> None:
        super().__init__()
        self.stuck = set(stuck)

    async def _maybe(self, method: str) -> None:
        if method in self.stuck:
            await asyncio.Event().wait()

    async def put(self, row: ConfirmationRow) -> None:
        await self._maybe("put")
        await super().put(row)

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        await self._maybe(f"{from_status}-{to_status}")
        return await super().transition(id, from_status, to_status, **changes)


@pytest.mark.requirement("5.6-a-store-that-hangs")
async def test_a_store_that_takes_no_request_ends_the_call_as_timeout_and_nobody_is_asked() -> None:
    clock, store = ManualClock(), Stuck("put")
    asked: list[ConfirmationView] = []
    surface = Surface(authority_of(Safe), principal="operator", clock=clock, store=store)
    surface.confirmations.subscribe(asked.append)
    safe = Safe()
    surface.mount(safe)
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Safe.open))
    await turns()
    assert output(await agent.call(Safe.look)) == 0, "nobody else waits"
    clock.advance(10)
    error = failed(await running, "TIMEOUT")
    assert error.details["outcome"] == "none" and error.retry == "yes"
    await turns()
    assert asked == [] and surface.confirmations.pending() == () and safe.opened == 0
    store.stuck.clear()
    failed(await agent.call(Safe.open), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("5.6-a-store-that-hangs")
async def test_a_store_that_never_spends_ends_the_call_as_timeout_with_nothing_run() -> None:
    clock, store = ManualClock(), Stuck()
    surface = Surface(authority_of(Safe), principal="operator", clock=clock, store=store)
    surface.confirmations.subscribe(lambda view: None)
    safe = Safe()
    surface.mount(safe)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Safe.open), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    store.stuck.add("approved-spent")
    running = asyncio.create_task(agent.call(Safe.open, confirmation=asked))
    await turns()
    clock.advance(10)
    error = failed(await running, "TIMEOUT")
    assert error.details["outcome"] == "none" and safe.opened == 0
    store.stuck.clear()
    output(await agent.call(Safe.open, confirmation=asked))
    assert safe.opened == 1


@pytest.mark.requirement("5.6-a-hook-that-hangs")
async def test_a_decide_hook_that_hangs_holds_no_call_and_its_request_expires() -> None:
    async def decide(view: ConfirmationView) -> Approved:
        await asyncio.Event().wait()
        raise AssertionError

    clock = ManualClock()
    surface = Surface(authority_of(Safe), principal="operator", clock=clock, decide=decide)
    surface.mount(Safe())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Safe.open), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await turns()
    clock.advance(121)
    await turns()
    error = failed(await agent.call(Safe.open, confirmation=asked), "CONFIRMATION_INVALID")
    assert error.details["reason"] == "expired"


@pytest.mark.requirement("5.6-a-hook-that-hangs")
async def test_what_a_hanging_hook_was_asked_expires_by_itself_and_the_hook_is_let_go() -> None:
    ended: list[str] = []

    async def decide(view: ConfirmationView) -> Approved:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(view.id)
        raise AssertionError

    clock = ManualClock()
    surface = Surface(authority_of(Safe), principal="operator", clock=clock, decide=decide)
    told: list[tuple[str, str]] = []
    surface.confirmations.subscribe(lambda view: told.append((view.id, view.status.value)))
    surface.mount(Safe())
    asked = str(failed(await surface.connect(AGENT).call(Safe.open)).details["confirmation_id"])
    await turns()
    clock.advance(120)
    await turns()
    assert told == [(asked, "pending"), (asked, "expired")] and ended == [asked]


class Exits(BaseException):
    """No Exception."""


@pytest.mark.requirement("5.2-a-policy-that-exits-closes")
@pytest.mark.parametrize("raised", [SystemExit(3), Exits("secret"), GeneratorExit()], ids=["exit", "base", "generator"])
@pytest.mark.parametrize("where", ["authorize", "review"])
async def test_a_policy_that_exits_denies_and_the_cause_is_journalled(where: str, raised: BaseException) -> None:
    class Leaves(Policy, name="leaves"):
        async def authorize(self, ctx: PolicyContext) -> None:
            if where == "authorize":
                await asyncio.sleep(0)
                raise raised

        async def review(self, ctx: ReviewContext) -> None:
            if where == "review":
                await asyncio.sleep(0)
                raise raised

    ran: list[bool] = []

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            ran.append(True)

    surface = Surface(authority_of(Table), principal="operator", policies=[Leaves()])
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "NOT_AUTHORIZED")
    assert "secret" not in str(error) and ran == []
    (entry,) = [entry for entry in surface.audit() if entry.type == "invocation"]
    (vote,) = [vote for vote in entry.votes if vote.cause is not None]
    assert vote.method == where and type(raised).__name__ in str(vote.cause)


@pytest.mark.requirement("5.2-a-policy-that-exits-closes")
async def test_a_policy_around_that_exits_says_what_is_known() -> None:
    class Leaves(Policy, name="leaves"):
        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            if when[0] == "before":
                raise SystemExit(3)
            await call_next()
            raise SystemExit(3)

    class Table(Component, type="table"):
        """A table."""

        @action
        async def put(self) -> None:
            """Put."""

    when = ["before"]
    surface = Surface(authority_of(Table), principal="operator", policies=[Leaves()])
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert failed(await agent.call(Table.put), "EXECUTION_FAILED").details["outcome"] == "none"
    when[0] = "after"
    assert failed(await agent.call(Table.put), "EXECUTION_FAILED").details["outcome"] == "done"


@pytest.mark.requirement("4.0-not-entered-nothing-ran")
@pytest.mark.parametrize("how", ["making", "entering"])
async def test_what_could_not_be_entered_has_not_run_and_the_answer_says_so(how: str) -> None:
    shut = [False]

    @contextmanager
    def entering() -> Iterator[None]:
        if shut[0] and how == "entering":
            raise RuntimeError("the client has gone: secret")
        yield

    def within() -> Any:
        if shut[0] and how == "making":
            raise SystemExit("the client has gone: secret")
        return entering()

    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> None:
        """Save."""
        ran.append("operation")

    ran: list[str] = []

    class Table(Component, type="table"):
        """A table."""

        save = reference("domain:save")

        @action
        def put(self) -> None:
            """Put."""
            ran.append("plain")

        @action
        async def put_later(self) -> None:
            """Put later."""
            ran.append("async")

        @action(blocking=True)
        def put_slowly(self) -> None:
            """Put slowly."""
            ran.append("blocking")

    surface = Surface(authority_of(Table, procedures=backend), principal="operator", procedures=backend, within=within)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    for capability in (Table.put, Table.put_later, Table.put_slowly, Table.save):
        output(await agent.call(capability))
        shut[0] = True
        error = failed(await agent.call(capability), "EXECUTION_FAILED")
        assert error.details["outcome"] == "none" and error.details["reason"] == "handler-error"
        assert "secret" not in str(error) and "secret" in str(surface.audit()[-1].cause)
        shut[0] = False
    assert ran == ["plain", "async", "blocking", "operation"]


@pytest.mark.requirement("4.0-within-decides-nothing")
async def test_within_that_swallows_what_code_raises_makes_no_success_of_it() -> None:
    @contextmanager
    def within() -> Iterator[None]:
        try:
            yield
        except ValueError:
            pass

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            raise ValueError

        @action
        async def put_later(self) -> None:
            """Put later."""
            raise ValueError

    surface = Surface(authority_of(Table), principal="operator", within=within)
    surface.mount(Table())
    for capability in (Table.put, Table.put_later):
        failed(await surface.connect(AGENT).call(capability), "EXECUTION_FAILED")


@pytest.mark.requirement("6.7-inline-code-is-measured")
async def test_policies_predicates_and_preconditions_are_measured_by_name() -> None:
    clock = ManualClock()
    slow = [""]

    def take(where: str) -> None:
        if slow[0] == where:
            clock.advance(0.2)

    class Watches(Policy, name="watches"):
        def discover(self, ctx: PolicyContext) -> Decision:
            take("Watches.discover")
            return Expose()

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            take("Table.put")

        @put.available
        def can_put(self) -> Literal[True] | Unavailable:
            take("Table.can_put")
            return True

        @put.precondition
        def may_put(self) -> None:
            take("Table.may_put")

    surface = Surface(authority_of(Table), principal="operator", policies=[Watches()], clock=clock)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    for where in ("Watches.discover", "Table.can_put", "Table.may_put", "Table.put"):
        before = len(surface.audit())
        slow[0] = where
        output(await agent.call(Table.put))
        told = {str(entry.why) for entry in surface.audit()[before:] if entry.type == "slow"}
        assert len(told) == 1
        assert told.pop().startswith("inline code took 200 ms: ")
        assert f".{where} (test_hanging.py:" in surface.findings()[-1].found
