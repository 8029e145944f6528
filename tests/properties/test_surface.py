"""Whatever happens to a surface, in whatever order: what holds for every consumer at every moment."""

import json
from collections import Counter
from typing import ClassVar, Final

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import (
    invariant,
    run_state_machine_as_test,
)

from remit import (
    Consumer,
    Failed,
    Invocation,
)
from tests.properties.held import over_capacity, running
from tests.properties.surface_calls import Called
from tests.properties.surface_scene import (
    AT_WORK,
    CAPABILITIES,
    CONSUMERS,
    INSTANCES,
    INVENTED,
)

REACHED: Final = frozenset(
    {"mounted", "rejected", "replaced", "unmounted", "unmounted with a call", "disabled", "pushed", "predicate"}
    | {"hidden", "suspended", "reinstated", "disposed", "disposed with a call", "replayed", "moved twice"}
    | {
        "cancelled before it ran",
        "cancelled while it ran",
        "timed out",
        "revoked",
        "revoked, not spent",
        "not the decider",
    }
    | {"request approved", "request denied", "request expired", "request cancelled", "request spent"}
    | {"evidence spent by one of many", "spent evidence ran nothing", "expired evidence refused"}
    | {"evidence of what has gone refused"}
)
"""What the run with a fixed seed must have come to."""


class Machine(Called):
    """Mounts, updates, policies, grants, requests, calls that wait, and time, against what is promised always."""

    @invariant()
    def nothing_runs_that_must_not_and_nothing_twice(self) -> None:
        self.steps += 1
        assert self.log.wrong == []
        assert [id for id, times in self.log.spent.items() if times > 1] == []
        assert [id for id, times in self.log.entered.items() if times > 1] == []

    @invariant()
    def what_ended_without_effect_never_ran(self) -> None:
        for id, (_, task) in self.calls.items():
            if task.done() and isinstance(outcome := task.result(), Failed):
                ran = outcome.error.details.get("outcome") == "unknown"
                assert ran is (self.log.entered[id] > 0), outcome

    @invariant()
    def a_version_moves_exactly_when_the_listing_does(self) -> None:
        """By how much is not said: it is computed when read, and a call that a replacing mount ends reads it, too."""
        for consumer in CONSUMERS if not self.disposed else ():
            snapshot = self.surface.snapshot(consumer)
            # What a predicate says is state, and moves no version.
            shown = [[c.id, c.registration, c.available or c.reason == AT_WORK] for c in snapshot.capabilities()]
            now = (int(snapshot.surface_version), json.dumps(shown))
            number, listing = self.seen.get(consumer.id, now)
            assert now[0] == number if now[1] == listing else now[0] > number
            self.reached["moved twice"] += now[0] > number + 1
            self.seen[consumer.id] = now

    @invariant()
    def what_is_listed_as_available_is_what_gets_to_authorization(self) -> None:
        for consumer in CONSUMERS if not self.disposed else ():
            listed = {(c.id, c.instance) for c in self.surface.snapshot(consumer).capabilities() if c.available}
            self.authorized.who.clear()
            self.run(self.look_ahead(consumer))
            assert self.authorized.who == listed

    async def look_ahead(self, consumer: Consumer) -> None:
        for id in CAPABILITIES:
            for instance in INSTANCES:
                await self.surface.preflight(Invocation(id, instance=instance), consumer)

    @invariant()
    def what_is_hidden_is_unknown(self) -> None:
        """One consumer a step, in turn; also that what is listed as available can be read, and else is not."""
        if self.disposed:
            return
        consumer = CONSUMERS[self.steps % 3]
        shown = {(c.id, c.instance): c.available for c in self.surface.snapshot(consumer).capabilities()}
        unknown = self.call(INVENTED, consumer, instance="a")
        assert isinstance(unknown, Failed)
        for id in CAPABILITIES:
            for instance in INSTANCES:
                available = shown.get((id, instance))
                if available and not id.endswith("read"):
                    continue
                outcome = self.call(id, consumer, instance=instance)
                code = outcome.error.code if isinstance(outcome, Failed) else "ok"
                match available:
                    case True:
                        assert code == "ok"
                    case False:
                        assert code == "CAPABILITY_NOT_AVAILABLE"
                    case None:  # what it had been shown of an earlier one is told to have gone
                        assert isinstance(outcome, Failed)
                        assert code == "COMPONENT_UNMOUNTED" or outcome.error == unknown.error
                        self.reached["hidden"] += 1

    @invariant()
    def what_has_ended_is_empty_and_answers_so(self) -> None:
        for consumer in CONSUMERS if self.disposed else ():
            assert self.surface.snapshot(consumer).capabilities() == ()
            outcome = self.call("view:open.read", consumer)
            assert isinstance(outcome, Failed) and outcome.error.code == "CANCELLED"

    @invariant()
    def every_started_call_has_settled_once(self) -> None:
        assert self.started <= set(self.going_on())

    def teardown(self) -> None:
        assert over_capacity(self.surface) == []
        self.surface.dispose()
        self.turn()
        assert self.going_on() == []
        assert running(self.surface) == []
        self.loop.close()


SETTINGS: Final = settings(
    max_examples=6,
    stateful_step_count=35,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
Machine.TestCase.settings = SETTINGS


@pytest.mark.requirement("2.6-exactly-when-the-listing-moves", "4.8-listing-equals-calling", "7.6-one-approval-one-run")
@pytest.mark.requirement("9.1-one-settled-per-started", "6.3-cancelled-never-runs", "15.3-nothing-is-left")
@pytest.mark.requirement("4.4-nothing-executable-outlives-the-mount", "7.4-grants-are-checked-when-spending")
class TestWhateverHappens(Machine.TestCase):  # type: ignore[misc, valid-type]
    """The machine, run."""


def test_a_run_comes_to_every_kind_of_thing_that_can_happen() -> None:
    class Counted(Machine):
        reached: ClassVar[Counter[str]] = Counter()

    # What a seed leads to depends on the modules that are loaded, so one of them alone may miss a rare kind.
    for number in range(2, 14):
        run_state_machine_as_test(seed(number)(Counted), settings=settings(SETTINGS, max_examples=16, database=None))
        if all(Counted.reached[kind] for kind in REACHED):
            break
    assert [kind for kind in sorted(REACHED) if not Counted.reached[kind]] == []
