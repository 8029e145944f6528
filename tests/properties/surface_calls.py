"""Calls that wait, requests, evidence and people, beside all that happens to the view."""

import asyncio

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
)

from remit import (
    Consumer,
    Decider,
    Failed,
    Ok,
    Outcome,
)
from tests.properties.held import running
from tests.properties.surface_scene import (
    APPROVER,
    CONSUMERS,
    INSTANCES,
    REPLAYED_S,
)
from tests.properties.surface_view import Viewed


class Called(Viewed):
    """Calls and decisions, in any order with everything else."""

    # Calls

    def an_instance(self, data: st.DataObject) -> str:
        live = sorted(instance for kind, instance in self.mounts if kind == "open")
        return data.draw(st.sampled_from(live or INSTANCES))

    @rule(data=st.data(), consumer=st.sampled_from(CONSUMERS[:2]), label=st.sampled_from(["x", "y"]))
    def ask(self, data: st.DataObject, consumer: Consumer, label: str) -> None:
        self.request(self.an_instance(data), consumer, label)

    def request(self, instance: str, consumer: Consumer, label: str) -> str | None:
        """Ask for a clearing, which needs a person: the id of the request, None if there is none."""
        self.asked += 1
        input = {"label": label}
        outcome = self.call("view:open.clear", consumer, input, instance=instance, id=f"clear-{self.asked}")
        assert isinstance(outcome, Failed), "it ran without anybody's approval"
        if outcome.error.code != "CONFIRMATION_REQUIRED":
            return None
        id = str(outcome.error.details["confirmation_id"])
        self.evidence[id] = consumer, instance, input
        return id

    @precondition(lambda self: self.mounts and not self.disposed)
    @rule(
        data=st.data(),
        consumer=st.sampled_from(CONSUMERS[:2]),
        meanwhile=st.sampled_from(["nothing", "nothing", "revoked", "late", "unmounted", "denied"]),
    )
    def ask_decide_and_retry(self, data: st.DataObject, consumer: Consumer, meanwhile: str) -> None:
        """One request from its beginning to its end; between the approval and the retry something happens, or not."""
        self.surface.confirmations.lift()
        self.grants.add(APPROVER)
        instance = self.an_instance(data)
        id = self.request(instance, consumer, f"only {self.asked}")
        if id is None:
            return
        yes = meanwhile != "denied"
        confirmations = self.surface.confirmations
        with pytest.raises(PermissionError):
            self.run(confirmations.approve(id, Decider("operator")))
        self.reached["not the decider"] += 1
        self.run((confirmations.approve if yes else confirmations.deny)(id, Decider("operator", self.grants)))
        busy = self.going_on()
        match meanwhile:
            case "revoked":
                self.grants.discard(APPROVER)
            case "late":
                self.clock.advance(121)
            case "unmounted":
                mount, life = self.mounts.pop(("open", instance))
                mount.unmount()
                life.over = True
            case _:
                pass
        ran = self.log.spent[id]
        outcomes = self.retry_at_once(id)
        if meanwhile != "nothing":
            assert self.log.spent[id] == ran == 0, f"{meanwhile}, and it ran"
            refused = {"revoked": "revoked, not spent", "late": "expired evidence refused"}
            self.reached[refused.get(meanwhile, "evidence of what has gone refused")] += meanwhile != "denied"
        elif not busy:
            assert self.log.spent[id] == 1, outcomes
            self.reached["evidence spent by one of many"] += 1
            self.come_again(id)
            self.repeat(self.cleared[-1])

    @precondition(lambda self: self.evidence)
    @rule(data=st.data())
    def come_with_evidence(self, data: st.DataObject) -> None:
        self.come_again(data.draw(st.sampled_from(list(self.evidence))))

    def come_again(self, id: str) -> None:
        consumer, instance, input = self.evidence[id]
        before = self.log.spent[id]
        runs = self.log.entered.total()
        outcome = self.call("view:open.clear", consumer, input, instance=instance, confirmation=id)
        if before:
            assert self.log.spent[id] == 1 and self.log.entered.total() == runs
            # As long as the ledger has it, the answer is the stored one; it belongs to the first invocation.
            assert isinstance(outcome, Failed) or (outcome.output == outcome.invocation_id)
            self.reached["spent evidence ran nothing"] += 1

    @precondition(lambda self: self.cleared)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        self.repeat(data.draw(st.sampled_from(self.cleared)))

    def repeat(self, one: tuple[float, Consumer, str, dict[str, str], Ok]) -> None:
        at, consumer, instance, input, before = one
        if self.clock.monotonic() - at > REPLAYED_S:
            return
        again = self.call("view:open.clear", consumer, input, instance=instance, id=before.invocation_id)
        if isinstance(again, Ok):
            assert again.output == before.output
            self.reached["replayed"] += 1

    @rule(data=st.data(), consumer=st.sampled_from(CONSUMERS[:2]))
    def start(self, data: st.DataObject, consumer: Consumer) -> None:
        self.begin(data, consumer)

    def begin(self, data: st.DataObject, consumer: Consumer) -> None:
        self.begin_at(self.an_instance(data), consumer)

    def begin_at(self, instance: str, consumer: Consumer) -> None:
        id = f"slow-{len(self.calls)}"
        work = self.surface.connect(consumer).call("view:open.slow", instance=instance, id=id)
        self.calls[id] = consumer, self.loop.create_task(work)
        self.turn()

    @precondition(lambda self: self.going_on())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.cancel_call(data.draw(st.sampled_from(self.going_on())))

    @precondition(lambda self: self.mounts and not self.disposed)
    @rule(
        data=st.data(),
        consumer=st.sampled_from(CONSUMERS[:2]),
        end=st.sampled_from(["first", "last", "wait", "unmount", "replace", "dispose"]),
    )
    def begin_two_and_end(self, data: st.DataObject, consumer: Consumer, end: str) -> None:
        """The second waits for the first; they are cancelled in either order, or something else ends both."""
        before = set(self.going_on())
        self.begin(data, consumer)
        self.begin(data, consumer)
        begun = [id for id in self.going_on() if id not in before]
        match end:
            case "first" | "last":
                for id in begun if end == "first" else reversed(begun):
                    if not self.calls[id][1].done():
                        self.cancel_call(id)
            case "wait":
                self.wait_for(11)
            case "unmount":
                self.unmount_one(data)
            case "replace":
                kind, instance = data.draw(st.sampled_from(sorted(self.mounts)))
                self.mount_one(kind, instance, "replace")
            case _:
                if self.steps > 20:
                    self.end()

    def cancel_call(self, id: str) -> None:
        consumer, task = self.calls[id]
        waiting = not self.log.entered[id]
        self.surface.cancel(id, consumer)
        self.turn()
        assert task.done()
        if waiting:
            assert not self.log.entered[id], "a cancelled call ran"
        self.reached["cancelled before it ran" if waiting else "cancelled while it ran"] += 1

    @precondition(lambda self: self.mounts)
    @rule(data=st.data())
    def open_the_gate(self, data: st.DataObject) -> None:
        _, life = self.mounts[data.draw(st.sampled_from(sorted(self.mounts)))]
        life.gate.set()
        self.turn()
        life.gate.clear()

    # People

    @precondition(lambda self: self.surface.confirmations.pending())
    @rule(data=st.data(), yes=st.booleans(), lift=st.booleans())
    def decide(self, data: st.DataObject, yes: bool, lift: bool) -> None:
        confirmations = self.surface.confirmations
        view = data.draw(st.sampled_from(confirmations.pending()))
        operator = Decider("operator", self.grants)
        answer = confirmations.approve if yes else confirmations.deny
        if APPROVER in self.grants:
            self.run(answer(view.id, operator))
        else:
            with pytest.raises(PermissionError):
                self.run(answer(view.id, operator))
            self.reached["not the decider"] += 1
        if lift:
            confirmations.lift()

    @precondition(lambda self: self.evidence)
    @rule(data=st.data())
    def come_at_once(self, data: st.DataObject) -> None:
        self.retry_at_once(data.draw(st.sampled_from(list(self.evidence))))

    def retry_at_once(self, evidence: str) -> list[Outcome]:
        """Every consumer comes with the same evidence, three times each, at once; only its own gets anything."""

        async def all_at_once() -> list[Outcome]:
            return await asyncio.gather(*(self.surface.continue_(evidence, each) for each in CONSUMERS * 3))

        answers: list[Outcome] = self.run(all_at_once())
        consumer, instance, input = self.evidence[evidence]
        for each, answer in zip(CONSUMERS * 3, answers, strict=True):
            assert isinstance(answer, Failed) or each is consumer, "somebody else's evidence was taken"
        done = [answer for answer in answers if isinstance(answer, Ok)]
        assert len({repr(answer.output) for answer in done}) <= 1
        self.cleared += [(self.clock.monotonic(), consumer, instance, input, answer) for answer in done[:1]]
        return answers

    @precondition(lambda self: not self.disposed and self.steps > 25)
    @rule()
    def dispose(self) -> None:
        self.end()

    def end(self) -> None:
        for instance in INSTANCES:
            self.begin_at(instance, CONSUMERS[0])
        self.reached["disposed with a call" if self.going_on() else "disposed"] += 1
        self.surface.dispose()
        self.disposed = True
        for _, life in self.mounts.values():
            life.over = True
        self.mounts.clear()
        self.turn()
        assert self.going_on() == [] and running(self.surface) == []
