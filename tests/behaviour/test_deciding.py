"""Who decides a request, and what an approval is worth: once (SPEC 7.4 to 7.7)."""

import asyncio
from typing import Any

import pytest
from typing_extensions import Unpack

from remit import (
    Approved,
    Component,
    ConfirmationView,
    Consumer,
    Decider,
    Failed,
    ManualClock,
    Ok,
    Principal,
    Surface,
    action,
)
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationChanges
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Table(Component, type="table"):
    """A table."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.fail = False

    @action(confirmation="required")
    async def delete(self, count: int) -> int:
        """Delete."""
        self.ran.append(count)
        await asyncio.sleep(0)
        if self.fail:
            raise RuntimeError("secret-4711")
        return count

    @action(confirmation="required", approver="lead")
    def wipe(self) -> str:
        """Wipe."""
        self.ran.append(-1)
        return "wiped"


def surface_of(principal: Any = "operator", **more: Any) -> tuple[Surface, Table]:
    """A surface with a channel and one table."""
    surface = Surface(authority_of(Table), principal=principal, **more)
    surface.confirmations.subscribe(lambda view: None)
    table = Table()
    surface.mount(table)
    return surface, table


async def ask(surface: Surface, capability: Any = "view:table.wipe", **input: int) -> str:
    """Call, and return the id of the request."""
    outcome = await surface.connect(AGENT).call(capability, input)
    return str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])


def status(surface: Surface, id: str) -> str:
    view = surface.confirmations.get(id)
    assert view is not None
    return view.status.value


@pytest.mark.requirement("7.4-the-principal-decides")
async def test_without_an_approver_the_principal_decides_and_nobody_else() -> None:
    surface, _ = surface_of(Principal("ada", tenant="acme"))
    id = await ask(surface, Table.delete, count=1)
    for other in (
        Decider("bob", tenant="acme"),
        Decider("bob", {"lead", "admin"}, tenant="acme"),
        Decider("ada"),
        Decider("ada", tenant="else"),
        Decider("agent", tenant="acme"),
    ):
        with pytest.raises(PermissionError):
            await surface.confirmations.approve(id, other)
        with pytest.raises(PermissionError):
            await surface.confirmations.deny(id, other)
        assert surface.confirmations.pending(other) == ()
        assert surface.confirmations.get(id, other) is None
    ada = Decider("ada", tenant="acme")
    assert [view.id for view in surface.confirmations.pending(ada)] == [id]
    await surface.confirmations.approve(id, ada)
    assert status(surface, id) == "approved"


@pytest.mark.requirement("7.4-an-approver-holds-the-grant")
async def test_with_an_approver_every_decider_holds_that_grant_and_the_principal_only_counts_with_it() -> None:
    surface, _ = surface_of(Principal("operator", grants={"lead"}))
    id = await ask(surface)
    with pytest.raises(PermissionError):
        await surface.confirmations.approve(id, Decider("operator"))
    with pytest.raises(PermissionError):
        await surface.confirmations.approve(id, Decider("lead", {"other"}))
    with pytest.raises(PermissionError):
        await surface.confirmations.approve(id, Decider("boss", {"lead"}, tenant="else"))
    await surface.confirmations.approve(id, Decider("boss", {"lead"}))
    assert output(await surface.connect(AGENT).call(Table.wipe, confirmation=id)) == "wiped"
    again = await ask(surface)
    await surface.confirmations.approve(again, Decider("operator", {"lead"}))
    assert output(await surface.connect(AGENT).call(Table.wipe, confirmation=again)) == "wiped"


@pytest.mark.requirement("7.4-grants-are-checked-when-spending")
async def test_an_approval_of_a_principal_that_lost_the_grant_is_not_spent() -> None:
    grants = {"lead"}
    surface, table = surface_of(lambda: Principal("operator", grants=grants))
    id = await ask(surface)
    await surface.confirmations.approve(id, Decider("operator", {"lead"}))
    grants.clear()
    error = failed(await surface.connect(AGENT).call(Table.wipe, confirmation=id), "CONFIRMATION_INVALID")
    assert error.details["reason"] == "no-decider"
    assert table.ran == [] and status(surface, id) == "approved"


@pytest.mark.requirement("7.4-one-answer-counts")
async def test_one_answer_counts_and_later_ones_say_what_became_of_the_request() -> None:
    surface, table = surface_of()
    id = await ask(surface, Table.delete, count=1)
    await surface.confirmations.deny(id, OPERATOR)
    for again in (surface.confirmations.approve(id, OPERATOR), surface.confirmations.deny(id, OPERATOR)):
        with pytest.raises(RuntimeError, match="denied"):
            await again
    with pytest.raises(LookupError):
        await surface.confirmations.approve("cnf_made_up", OPERATOR)
    outcome = await surface.connect(AGENT).call(Table.delete, {"count": 1}, confirmation=id)
    assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "denied"}
    assert table.ran == []


@pytest.mark.requirement("7.4-one-answer-counts")
async def test_of_concurrent_answers_exactly_one_counts() -> None:
    surface, _ = surface_of()
    id = await ask(surface, Table.delete, count=1)
    answers = [surface.confirmations.approve(id, OPERATOR), surface.confirmations.deny(id, OPERATOR)]
    results = await asyncio.gather(*answers, surface.confirmations.approve(id, OPERATOR), return_exceptions=True)
    assert sum(result is None for result in results) == 1


@pytest.mark.requirement("7.2-approving-names-the-digest")
async def test_approving_with_the_digest_of_something_else_changes_nothing() -> None:
    surface, _ = surface_of()
    id, other = await ask(surface, Table.delete, count=1), await ask(surface, Table.delete, count=2)
    views = {view.id: view for view in surface.confirmations.pending()}
    assert views[id].digest != views[other].digest
    with pytest.raises(ValueError):
        await surface.confirmations.approve(id, OPERATOR, digest=views[other].digest)
    assert status(surface, id) == "pending"
    await surface.confirmations.approve(id, OPERATOR, digest=views[id].digest)
    assert status(surface, id) == "approved"


@pytest.mark.requirement("7.4-subscribe-and-wait")
async def test_a_subscriber_hears_each_change_of_state_and_wait_tells_the_answer() -> None:
    surface, _ = surface_of()
    seen: list[tuple[str, str]] = []

    def broken(view: ConfirmationView) -> None:
        raise RuntimeError("secret-4711")

    surface.confirmations.subscribe(broken)
    surface.confirmations.subscribe(lambda view: seen.append((view.id, view.status.value)))
    id = await ask(surface, Table.delete, count=1)
    waiting = asyncio.create_task(surface.confirmations.wait(id))
    await turns()
    assert not waiting.done()
    await surface.confirmations.approve(id, OPERATOR)
    assert await waiting == "approved"
    output(await surface.connect(AGENT).call(Table.delete, {"count": 1}, confirmation=id))
    assert seen == [(id, "pending"), (id, "approved"), (id, "spent")]
    assert await surface.confirmations.wait(id) == "spent"


@pytest.mark.requirement("7.5-what-evidence-answers")
async def test_evidence_that_is_unknown_foreign_or_for_another_call_is_one_answer_and_the_rest_say_so() -> None:
    clock = ManualClock()
    surface, table = surface_of(clock=clock)
    agent, other = surface.connect(AGENT), surface.connect(Consumer("other", kind="test"))

    async def answer(id: str, who: Any = agent, count: int = 1) -> tuple[str, dict[str, object]]:
        error = failed(await who.call(Table.delete, {"count": count}, confirmation=id))
        return error.code.value, {k: v for k, v in error.details.items() if k in ("reason", "cause", "confirmation_id")}

    id = await ask(surface, Table.delete, count=1)
    mismatch = ("CONFIRMATION_INVALID", {"reason": "mismatch"})
    assert await answer("cnf_made_up") == await answer(id, other) == await answer(id, count=2) == mismatch
    assert await answer("") == await answer("\ud800") == mismatch
    assert await answer(id) == ("CONFIRMATION_REQUIRED", {"confirmation_id": id})
    await surface.confirmations.deny(id, OPERATOR)
    assert await answer(id) == ("CONFIRMATION_INVALID", {"reason": "denied"})
    assert await answer(id, other) == mismatch
    expired = await ask(surface, Table.delete, count=3)
    clock.advance(120)
    assert await answer(expired, count=3) == ("CONFIRMATION_INVALID", {"reason": "expired"})
    withdrawn = await ask(surface, Table.delete, count=4)
    await surface.withdraw(withdrawn, AGENT)
    assert await answer(withdrawn, count=4) == ("CONFIRMATION_INVALID", {"reason": "cancelled", "cause": "withdrawn"})
    assert table.ran == []


@pytest.mark.requirement("7.5-spent-says-the-outcome")
@pytest.mark.parametrize(("fail", "happened"), [(False, "done"), (True, "unknown")])
async def test_spent_evidence_under_another_id_says_what_became_of_the_run(fail: bool, happened: str) -> None:
    surface, table = surface_of()
    table.fail = fail
    agent = surface.connect(AGENT)
    id = await ask(surface, Table.delete, count=1)
    await surface.confirmations.approve(id, OPERATOR)
    await agent.call(Table.delete, {"count": 1}, confirmation=id)
    for number in range(3):
        error = failed(
            await agent.call(Table.delete, {"count": 1}, confirmation=id, id=f"i{number}"), "CONFIRMATION_INVALID"
        )
        assert error.details == {"reason": "spent", "outcome": happened} and error.retry == "no"
    assert table.ran == [1]


@pytest.mark.requirement("7.6-five-hundred-retries")
@pytest.mark.parametrize("own_ids", [False, True])
async def test_five_hundred_concurrent_retries_execute_once(own_ids: bool) -> None:
    surface, table = surface_of()
    agent = surface.connect(AGENT)
    id = await ask(surface, Table.delete, count=1)
    await surface.confirmations.approve(id, OPERATOR)
    retries = [
        agent.call(Table.delete, {"count": 1}, confirmation=id, id=f"i{number}" if own_ids else None)
        for number in range(500)
    ]
    outcomes = await asyncio.gather(*retries)
    assert table.ran == [1]
    good = [outcome for outcome in outcomes if isinstance(outcome, Ok)]
    if not own_ids:
        assert len(good) == 500
    else:
        assert len(good) == 1
        codes = {outcome.error.code.value for outcome in outcomes if isinstance(outcome, Failed)}
        assert codes <= {"CONFIRMATION_INVALID", "RATE_LIMITED"}
    late = failed(await agent.call(Table.delete, {"count": 1}, confirmation=id, id="late"), "CONFIRMATION_INVALID")
    assert late.details == {"reason": "spent", "outcome": "done"}


@pytest.mark.requirement("7.6-five-hundred-retries")
async def test_approvals_of_instances_that_do_not_queue_together_are_spent_once_too() -> None:
    class Watch(Component, type="watch"):
        """A watch."""

        ran = 0

        @action(confirmation="required")
        async def go(self) -> None:
            """Go."""
            Watch.ran += 1
            await turns(3)

    surface = Surface(authority_of(Watch), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Watch())
    agent = surface.connect(AGENT)
    id = await ask(surface, Watch.go)
    await surface.confirmations.approve(id, OPERATOR)
    with_id = [agent.call(Watch.go, confirmation=id, id=f"i{n}") for n in range(3)]
    without = [agent.call(Watch.go) for _ in range(3)]
    outcomes = await asyncio.gather(*with_id, *without)
    assert sum(isinstance(outcome, Ok) for outcome in outcomes) == Watch.ran == 1


@pytest.mark.requirement("7.6-continue")
async def test_continue_runs_the_stored_exact_call_under_its_invocation_id_and_decides_nothing() -> None:
    surface, table = surface_of()
    agent = surface.connect(AGENT)
    asked = await agent.call(Table.delete, {"count": 7}, id="mine")
    id = str(failed(asked).details["confirmation_id"])
    error = failed(await surface.continue_(id, AGENT), "CONFIRMATION_REQUIRED")
    assert error.details["confirmation_id"] == id and status(surface, id) == "pending"
    await surface.confirmations.approve(id, OPERATOR)
    stranger = failed(await surface.continue_(id, Consumer("other", kind="test")), "CONFIRMATION_INVALID")
    unknown = failed(await surface.continue_("cnf_made_up", AGENT), "CONFIRMATION_INVALID")
    assert stranger == unknown and stranger.details == {"reason": "mismatch"}
    assert table.ran == []
    done = await surface.continue_(id, AGENT)
    assert (output(done), done.invocation_id, done.capability_id) == (7, "mine", "view:table.delete")
    assert await surface.continue_(id, AGENT) == done
    assert table.ran == [7]


@pytest.mark.requirement("7.6-continue-is-governed")
async def test_continue_passes_every_step_again() -> None:
    surface, table = surface_of()
    (mount_of,) = [component.registration for component in surface.snapshot(AGENT).components]
    id = await ask(surface, Table.delete, count=7)
    await surface.confirmations.approve(id, OPERATOR)
    narrowed = Consumer("agent", kind="test", scope=["view:other.**"])
    failed(await surface.continue_(id, narrowed), "CAPABILITY_NOT_FOUND")
    assert status(surface, id) == "approved" and table.ran == []
    output(await surface.continue_(id, AGENT))
    assert mount_of and table.ran == [7]


@pytest.mark.requirement("7.6-stored-input-cannot-be-changed")
async def test_what_was_stored_is_what_was_shown_whatever_the_caller_does_with_its_input_later() -> None:
    surface, table = surface_of()
    mine = {"count": 7}
    id = str(failed(await surface.connect(AGENT).call(Table.delete, mine)).details["confirmation_id"])
    mine["count"] = 99
    await surface.confirmations.approve(id, OPERATOR)
    assert output(await surface.continue_(id, AGENT)) == 7
    assert table.ran == [7]


@pytest.mark.requirement("7.7-embedded-waits")
async def test_an_embedded_toolset_waits_for_the_person_and_answers_once() -> None:
    surface, table = surface_of()
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    name = next(str(each["name"]) for each in tools.definitions() if "delete" in str(each["name"]))
    waiting = asyncio.create_task(tools.call(name, {"count": 3}))
    await turns()
    assert not waiting.done()
    (view,) = surface.confirmations.pending()
    await surface.confirmations.approve(view.id, OPERATOR)
    result = await waiting
    assert isinstance(result.outcome, Ok) and result.outcome.output == 3
    denied = asyncio.create_task(tools.call(name, {"count": 4}))
    await turns()
    (view,) = surface.confirmations.pending()
    await surface.confirmations.deny(view.id, OPERATOR)
    outcome = (await denied).outcome
    assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "denied"}
    assert table.ran == [3]


@pytest.mark.requirement("7.7-remote-returns")
async def test_all_other_toolsets_return_confirmation_required() -> None:
    surface, table = surface_of()
    tools = surface.connect(Consumer("agent", kind="test")).toolset()
    tools.definitions()
    result = await tools.call("view_table__delete", {"count": 3})
    failed(result.outcome, "CONFIRMATION_REQUIRED")
    assert table.ran == []


@pytest.mark.requirement("7.7-topology-can-be-set")
@pytest.mark.parametrize("kind", ["embedded", "test"])
async def test_whether_a_toolset_waits_can_be_set(kind: str) -> None:
    surface, table = surface_of()
    connection = surface.connect(Consumer("agent", kind=kind))
    tools = connection.toolset(waits=False)
    tools.definitions()
    failed((await tools.call("view_table__delete", {"count": 3})).outcome, "CONFIRMATION_REQUIRED")
    waiting_tools = connection.toolset(waits=True)
    waiting_tools.definitions()
    waiting = asyncio.create_task(waiting_tools.call("view_table__delete", {"count": 3}))
    await turns()
    (view,) = surface.confirmations.pending()
    await surface.confirmations.approve(view.id, OPERATOR)
    assert isinstance((await waiting).outcome, Ok) and table.ran == [3]


@pytest.mark.requirement("7.5-spent-says-the-outcome")
async def test_a_store_that_does_not_take_how_a_call_ended_changes_no_answer_and_is_journalled() -> None:
    class Failing(MemoryStore):
        async def transition(
            self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
        ) -> bool:
            if from_status == to_status:
                raise ConnectionError("the store is down")
            return await super().transition(id, from_status, to_status, **changes)

    store = Failing()
    surface, table = surface_of(store=store)
    id = await ask(surface, Table.delete, count=3)
    await surface.confirmations.approve(id, OPERATOR)
    assert output(await surface.connect(AGENT).call(Table.delete, {"count": 3}, confirmation=id)) == 3
    await turns()
    (fault,) = surface.audit(types={"fault"})
    assert fault.why == "the store could not record how a call ended"
    assert "the store is down" in str(fault.cause)
    row = await store.get(id)
    assert row is not None and (row.status, row.outcome) == ("spent", "unknown")
    assert table.ran == [3]


@pytest.mark.requirement("7.4-no-agent-facing-verb")
async def test_nothing_an_agent_can_send_decides() -> None:
    surface, table = surface_of()
    agent = surface.connect(AGENT)
    id = await ask(surface, Table.delete, count=1)
    for field in ("approved", "confirm", "decider", "confirmation", "force", "evidence"):
        failed(await agent.call(Table.delete, {"count": 1, field: True}), "INVALID_INPUT")
    for capability in ("view:table.approve", "view:confirmations.approve", "domain:confirmations.approve"):
        failed(await agent.call(capability, {"id": id}), "CAPABILITY_NOT_FOUND")
    assert status(surface, id) == "pending" and table.ran == []
    assert not any(hasattr(agent, verb) for verb in ("approve", "deny", "confirmations"))


@pytest.mark.requirement("7.6-unmounted-while-spending")
async def test_a_decision_while_the_registration_goes_runs_nothing() -> None:
    class Gone(Component, type="gone"):
        """Gone."""

        ran = 0

        @action(confirmation="required")
        def go(self) -> None:
            """Go."""
            Gone.ran += 1

    async def decide(view: ConfirmationView) -> Approved:
        mount.unmount()
        return Approved(by=OPERATOR)

    surface = Surface(authority_of(Gone), principal="operator", decide=decide)
    mount = surface.mount(Gone())
    id = await ask(surface, Gone.go)
    await turns()
    assert status(surface, id) == "cancelled"
    mount = surface.mount(Gone())
    error = failed(await surface.connect(AGENT).call(Gone.go, confirmation=id), "CONFIRMATION_INVALID")
    assert error.details == {"reason": "cancelled", "cause": "unmounted"} and Gone.ran == 0


@pytest.mark.requirement("7.6-unmounted-while-spending")
async def test_who_hears_that_an_approval_is_spent_may_still_unmount_before_anything_runs() -> None:
    surface, table = surface_of()
    (mount,) = (surface.mount(Table(), "other"),)
    failed(await surface.connect(AGENT).call(Table.delete, {"count": 1}, instance="other"), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    await surface.confirmations.approve(view.id, OPERATOR)
    surface.confirmations.subscribe(lambda now: mount.unmount() if now.status == "spent" else None)
    call = surface.connect(AGENT).call(Table.delete, {"count": 1}, instance="other", confirmation=view.id)
    failed(await call, "COMPONENT_UNMOUNTED")
    assert table.ran == [] and status(surface, view.id) == "spent"
