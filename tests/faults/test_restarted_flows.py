"""A flow waits for a person when its process ends; its id carries it on in the next one (SPEC 11.8, 15.1)."""

from pathlib import Path

import pytest

from remit import (
    Component,
    ConfirmationKeys,
    Consumer,
    Decider,
    Handoff,
    ManualClock,
    Outcome,
    Principal,
    Steps,
    StepsDone,
    Surface,
    action,
    flow,
)
from remit.store.sqlite import SQLiteStore
from tests.behaviour.conftest import authority_of, failed, output

AGENT = Consumer("agent", kind="test")
ADA = Decider("ada")
KEYS = ConfirmationKeys("k1", {"k1": "s" * 32})
RAN: list[str] = []


class Jobs(Component, type="jobs.list"):
    """Jobs."""

    @action
    def first(self, job: str) -> str:
        """First."""
        RAN.append(f"first {job}")
        return job

    @action(handoff=Handoff("A signature", to="/sign"))
    def sign(self, job: str) -> str:
        """Sign."""
        raise NotImplementedError

    @flow(steps=["view:jobs.list.first", "view:jobs.list.sign", "view:jobs.list.first"])
    async def signed(self, job: str, steps: Steps) -> str:
        """First, signature, first."""
        await steps.run({"job": job})
        name = await steps.run({"job": job})
        return str(await steps.run({"job": f"{job} for {name}"}))


JOBS = authority_of(Jobs)


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    RAN.clear()


def opened(store: SQLiteStore, clock: ManualClock) -> Surface:
    surface = Surface(JOBS, principal=Principal("ada"), store=store, clock=clock, keys=KEYS)
    surface.mount(Jobs())
    return surface


async def signed(surface: Surface, id: str = "k1") -> Outcome:
    return await surface.connect(AGENT).call("view:jobs.list.signed", {"job": "a"}, id=id)


@pytest.mark.requirement("15.1-a-flow-is-carried-on-by-its-id")
@pytest.mark.parametrize("ended", ["before", "after", "after and repeated"])
@pytest.mark.parametrize("minutes", [0, 25])
async def test_the_id_of_a_flow_carries_it_on_after_a_restart_and_nothing_runs_twice(
    tmp_path: Path, ended: str, minutes: int
) -> None:
    clock = ManualClock()
    store = SQLiteStore(tmp_path / "state.db", clock=clock, poll_s=3_600.0)
    surface = opened(store, clock)
    handoff = str(failed(await signed(surface), "HANDOFF_REQUIRED").details["handoff_id"])
    if ended == "before":
        surface._pipeline.end_all()  # pyright: ignore[reportPrivateUsage]  # the end of a process: nothing goes on
        await surface.handoffs.complete(handoff, ADA, "Ada")
    store.close()
    clock.advance(minutes * 60)
    store = SQLiteStore(tmp_path / "state.db", clock=clock, poll_s=3_600.0)
    surface = opened(store, clock)
    if ended == "after and repeated":
        again = await signed(surface)
        assert failed(again, "HANDOFF_REQUIRED").details["handoff_id"] == handoff
        assert again.steps == StepsDone(1, 3)
    if ended != "before":
        await surface.handoffs.complete(handoff, ADA, "Ada")
    outcome = await signed(surface)
    assert (output(outcome), outcome.steps) == ("a for Ada", StepsDone(3, 3))
    assert output(await signed(surface)) == "a for Ada"
    assert RAN == ["first a", "first a for Ada"]
    assert failed(await signed(surface, "k2"), "HANDOFF_REQUIRED").details["handoff_id"] != handoff
    store.close()


@pytest.mark.requirement("15.1-a-flow-is-carried-on-by-its-id")
async def test_a_flow_whose_person_declined_after_a_restart_fails_and_says_how_far_it_came(tmp_path: Path) -> None:
    clock = ManualClock()
    store = SQLiteStore(tmp_path / "state.db", clock=clock, poll_s=3_600.0)
    handoff = str(failed(await signed(opened(store, clock)), "HANDOFF_REQUIRED").details["handoff_id"])
    store.close()
    store = SQLiteStore(tmp_path / "state.db", clock=clock, poll_s=3_600.0)
    surface = opened(store, clock)
    await surface.handoffs.decline(handoff, ADA)
    outcome = await signed(surface)
    assert failed(outcome, "PRECONDITION_FAILED").details["reason"] == "handoff-declined"
    assert outcome.steps == StepsDone(1, 3)
    assert RAN == ["first a"]
    store.close()
