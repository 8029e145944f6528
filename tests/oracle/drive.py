"""Random surfaces, policies, consumers and calls through product and model; run it, or import `drive`.

python -m tests.oracle.drive --seed 7 --steps 20000
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from remit import Authority
from tests.oracle.model import see
from tests.oracle.stage import ALL, CAPABILITIES, CAST, CHECKED, EXPOSURES, PREDICATED, RULES, TEMPLATES, authorities
from tests.oracle.story import LIMITS, Disagreement, Story
from tests.oracle.world import Asked, Capability, Consumer, Registration, Stance, World

Change = Callable[[], None]
STEPS_OF_A_STORY = 60
INSTANCES = ("default", "a", "b")
MADE_UP = ("view:lab.table.nope", "view:lab.table", "domain:lab.none", "nonsense", "view:LAB.table.read", "")
INPUTS: tuple[tuple[str, int | None, bool, bool], ...] = (
    ("{}", 0, False, True),
    ('{"n":1}', 1, False, True),
    ('{"n":2}', 2, False, True),
    ('{"n":"1"}', 1, False, True),
    ('{"n":9}', None, False, True),
    ('{"n":true}', None, False, True),
    ('{"m":1}', None, False, True),
    ('{"target":"south"}', None, True, True),
    ("[1]", None, False, False),
)
LIKELY = (24, 12, 6, 3, 1, 1, 1, 1, 1)
WIDE = ("view:**", "domain:**")
SCOPES = (
    ("view:lab.table.*", "domain:lab.*"),
    ("view:lab.panel.show", "domain:lab.query", "domain:lab.delete"),
    ("view:*.*.read", "view:lab.*.pick", "domain:lab.drop"),
    ("region:lab.table/**", "region:lab.panel"),
    ("region:*/lab.table", "region:lab.panel/*/**", "domain:lab.drop"),
    (),
)
KINDS = {"test": 5, "embedded": 4, "mcp": 3, "page": 2, "other": 1}
NARROWED = (
    None,
    None,
    None,
    None,
    None,
    {"mcp": ("view:lab.table.**",), "test": ("view:**", "domain:lab.delete", "domain:lab.drop")},
    {"embedded": ("view:lab.panel.*", "domain:**"), "page": ("domain:**",)},
)
ROWS: tuple[tuple[object, ...], ...] = (("a", "b"), ("a", "b"), ("a",), ("b", 1), ("1", "a", 0), ())
RECORDS: tuple[object, ...] = ("a", "a", "a", "b", "b", "c", "1", 1, 0, True, None, "", ["a"])
CONFIRM = ((), (), (), ("local-state",), ("view:lab.panel.*",), ("server-query", "domain:lab.query"), ("read",))
SITE = ((), (), ("rule:site",), ("rule:site", "rule:house"))


class Director:
    """Makes one story up as it goes."""

    def __init__(self, rng: random.Random, contracts: tuple[Authority, ...]) -> None:
        self.rng = rng
        exposed = rng.choices(range(len(EXPOSURES)), (1, 3, 3))[0]
        world = World(
            id="",
            exposure=dict(EXPOSURES[exposed]),
            narrowed=rng.choice(NARROWED),
            policies=rng.choice(SITE),
            channel=rng.random() < 0.85,
            per_consumer=LIMITS.confirmations_per_consumer,
            per_surface=LIMITS.confirmations_per_surface,
        )
        consumers = tuple(self._consumer(f"agent-{number}") for number in range(3))
        self.story = Story(contracts[exposed], world, consumers)
        self.aim: list[Registration] = []  # while a call waits: what it is about
        self.tokens: dict[str, list[tuple[int, str]]] = {}
        self.yes = rng.choice((0.75, 0.75, 0.5, 0.05))  # how the person answers, and whether there is one at all
        self.there = rng.random() < 0.9

    @property
    def world(self) -> World:
        return self.story.world

    async def step(self) -> None:
        """One random step."""
        dice = self.rng.random()
        if len(self.world.live) < 2:
            self._mount()
        elif dice < 0.55:
            await self._call()
        elif dice < 0.64:
            self._look()
        elif dice < 0.76 and self.world.requests and self.there:
            await self._decide()
        elif dice < 0.80:
            self._time()
        else:
            self._change()
        self.story.settled()

    def _consumer(self, id: str) -> Consumer:
        rng = self.rng
        kind = rng.choices(tuple(KINDS), tuple(KINDS.values()))[0]
        wide = None if kind in ("test", "embedded") and rng.random() < 0.7 else WIDE
        scope = wide if rng.random() < 0.7 else rng.choice((None, *SCOPES))
        return Consumer(id, kind, scope, rng.choice(CONFIRM))

    # What changes

    def _change(self) -> None:
        often = (self._mount, self._policy, self._policy, self._state, self._state)
        seldom = (self._unmount, self._enable, self._push, self._invalidate, self._switch, self._handler, self._channel)
        self.rng.choice((*often, *seldom))()

    def _place(self) -> Registration:
        return self.rng.choice(self.aim or self.world.live)

    def _mount(self) -> None:
        parent = self._place() if self.world.live and self.rng.random() < 0.4 else None
        kind, instance = self.rng.choice(tuple(CAST)), self.rng.choice(INSTANCES)
        replace = self.rng.random() < 0.4
        if parent is not None and replace and self._above(parent, kind, instance):
            parent = None  # what is replaced cannot stay the parent
        self.story.mount(kind, instance, parent, replace=replace, enabled=self.rng.random() < 0.9)

    @staticmethod
    def _above(place: Registration | None, kind: str, instance: str) -> bool:
        while place is not None:
            if (place.type, place.instance) == (kind, instance):
                return True
            place = place.parent
        return False

    def _unmount(self) -> None:
        self.story.unmount(self._place())

    def _enable(self) -> None:
        above = [place.parent for place in self.world.live if place.parent is not None]
        place = self.rng.choice(above) if above and self.rng.random() < 0.5 else self._place()
        self.story.enable(place, self.rng.random() < 0.6, self.rng.choice((None, "tab closed")))

    def _push(self, what: Capability | None = None) -> None:
        place = self._place()
        what = what or self.rng.choice(place.capabilities)
        self.story.push(place, what.id, self.rng.choice((None, "busy")))

    def _invalidate(self) -> None:
        self.story.invalidate(self._place())

    def _policy(self, what: Capability | None = None) -> None:
        stance = Stance()
        if self.rng.random() < 0.5:
            stance = self.rng.choice(
                [Stance(discover=each) for each in ("disable", "hide", "raise")]
                + [Stance(authorize=each) for each in ("deny", "sign-in", "slow", "raise")]
                + [Stance(review=each) for each in ("deny", "ask", "ask", "raise")]
            )
        what = what or self.rng.choice(self._place().capabilities)
        rules = self.world.policies + what.policies
        self.story.stand(self.rng.choice(rules or RULES), what.id, stance)

    def _state(self) -> None:
        place, rng = self._place(), self.rng
        own = {what.id for what in place.capabilities}
        for what in sorted(own.intersection(PREDICATED)):
            place.predicates[what] = rng.choice((True, True, True, "no rows", None))
        for what in sorted(own.intersection(CHECKED)):
            place.preconditions.pop(what, None)
            if rng.random() < 0.3:
                place.preconditions[what] = rng.choice(("not shown", "raise"))
        place.target = rng.choice(("north", "north", "south", None))
        place.rows = rng.choice(ROWS)
        told = f"{place.predicates} {place.preconditions} target={place.target} rows={place.rows}"
        self.story.tell(f"state      {place.id} {told}")

    def _switch(self) -> None:
        if self.world.off or self.world.out:
            one = self.rng.choice(sorted(self.world.off | self.world.out))
            off = False
        else:
            one, off = self.rng.choice((*CAPABILITIES, *self.story.who)), True
        consumer = one if one in self.story.who else None
        self.story.switch(consumer, one if consumer is None else None, off=off)

    def _handler(self) -> None:
        what = self.rng.choice(CAPABILITIES)
        self.world.handlers[what] = self.rng.choice(("fine", "fine", "refuse", "raise"))
        self.story.tell(f"handler    {what} {self.world.handlers[what]}")

    def _channel(self) -> None:
        if not self.world.channel or self.rng.random() < 0.3:
            self.story.hear()

    async def _decide(self) -> None:
        pending = [id for id, request in self.world.requests.items() if request.status == "pending"]
        id = self.rng.choice(pending or list(self.world.requests))
        dice = self.rng.random()
        if dice < self.yes:
            await self.story.answer(id, approve=True)
        elif dice < 0.85:
            await self.story.answer(id, approve=False)
        elif dice < 0.95:
            await self.story.withdraw(id)
        else:
            self.story.lift()

    def _time(self) -> None:
        self.story.wait(self.rng.choice((1.5, 20.5, 61.5, 130.5, 301.5)))

    def _look(self) -> None:
        consumer = self.rng.choice(tuple(self.story.who))
        self.story.look(consumer)
        self.tokens.setdefault(consumer, []).append(self.story.numbers[consumer])

    # What is asked

    async def _call(self) -> None:
        dice = self.rng.random()
        if dice < 0.35 and self.world.requests:
            consumer, asked = self._retry()
        elif dice < 0.47 and self.story.asked:
            consumer, asked = self._repeat()
        else:
            consumer = self.rng.choice(tuple(self.story.who))
            asked = self._fresh(consumer)
        version = None
        if self.rng.random() < 0.3 and (tokens := self.tokens.get(consumer)):
            number, version = self.rng.choice(tokens[-2:])
            asked = replace(asked, version=number)
        else:
            asked = replace(asked, version=None)
        await self.story.call(consumer, asked, version, self._meanwhile(asked.capability))

    def _fresh(self, consumer: str) -> Asked:
        rng = self.rng
        place, what = self._target(consumer)
        capability = what.id if rng.random() < 0.95 else rng.choice(MADE_UP)
        full = f"{place.type}/{place.instance}"
        address = rng.choices((place.instance, full, "nowhere"), (12, 8 if capability.startswith("domain:") else 1, 1))[
            0
        ]
        every = [each.id for each in (place, *self.world.live, *self.world.gone[-2:])]
        return Asked(
            capability=capability,
            **self._input(capability),
            instance=address if rng.random() < 0.75 else None,
            registration=rng.choice((*every, *[place.id] * 6, "reg_x")) if rng.random() < 0.3 else None,
            surface=rng.choice((self.world.id, self.world.id, "srf_x")) if rng.random() < 0.06 else None,
            invocation=f"call-{rng.randrange(8)}" if rng.random() < 0.35 else None,
            evidence=rng.choice(("cnf_x", *self.world.requests)) if rng.random() < 0.08 else None,
        )

    def _input(self, capability: str) -> dict[str, Any]:
        """What is sent, and what it comes to; of a row action with a record, mostly one there is."""
        raw, n, names_target, form = self.rng.choices(INPUTS, LIKELY)[0]
        record: object = None
        if capability in TEMPLATES and form and self.rng.random() < 0.95:
            record = self.rng.choice(RECORDS)
            raw = json.dumps({"record": record, **json.loads(raw)})
        return {"raw": raw, "n": n, "names_target": names_target, "form": form, "record": record}

    def _target(self, consumer: str) -> tuple[Registration, Capability]:
        """Something to call, mostly what can be seen."""
        offered = [(place, what) for place in self.world.live for what in place.capabilities]
        who = self.story.who[consumer]
        seen = [pair for pair in offered if see(self.world, who, *pair)[0] != "hidden"]
        return self.rng.choice(seen if seen and self.rng.random() < 0.8 else offered)

    def _retry(self) -> tuple[str, Asked]:
        """The call behind a request again, mostly with its evidence, mostly by the same consumer."""
        rng = self.rng
        id, request = rng.choice(list(self.world.requests.items())[-6:])
        calls = [(who, asked) for who, asked in self.story.asked if asked.fingerprint == request.fingerprint]
        consumer, asked = next((pair for pair in calls if pair[0] == request.consumer), calls[0])
        name = rng.choice((None, None, request.invocation, f"call-{rng.randrange(12)}"))
        asked = replace(asked, evidence=id if rng.random() < 0.8 else None, invocation=name)
        if rng.random() < 0.15:
            asked = replace(asked, **self._input(asked.capability))
        return (rng.choice(tuple(self.story.who)) if rng.random() < 0.1 else consumer), asked

    def _repeat(self) -> tuple[str, Asked]:
        """An earlier call again, rather one whose outcome is stored; at times the world has turned against it."""
        rng, asked = self.rng, self.story.asked
        stored = [(who, call) for who, call in asked if (who, call.invocation or "") in self.world.stored]
        consumer, call = rng.choice((stored or asked)[-8:])
        if rng.random() < 0.4 and (what := next((each for each in ALL if each.id == call.capability), None)):
            self._policy(what)
        if rng.random() < 0.7:
            return consumer, call
        other = replace(self._fresh(consumer), capability=call.capability, **self._input(call.capability))
        return consumer, replace(other, invocation=call.invocation)

    def _meanwhile(self, capability: str) -> Change | None:
        """What changes while the call waits in its author's check, rather about what is called."""
        about = [place for place in self.world.live if any(what.id == capability for what in place.capabilities)]
        if capability not in CHECKED or not about or self.rng.random() < 0.5:
            return None
        what = next(each for each in ALL if each.id == capability)
        about_it: tuple[Change, ...] = (partial(self._push, what), partial(self._policy, what))
        others: tuple[Change, ...] = (
            self._unmount,
            self._enable,
            self._state,
            self._switch,
            self._channel,
            self._mount,
        )
        change = self.rng.choice((*about_it, *others))

        def happen() -> None:
            self.aim = about
            change()
            self.aim = []

        return happen


async def drive(seed: int, steps: int) -> Counter[str]:
    """Run that many random steps; a `Disagreement` tells the first story in which the two sides differ.

    Returns how often each kind of step and of answer came.
    """
    contracts = authorities()
    seen: Counter[str] = Counter()
    done = number = 0
    while done < steps:
        number += 1
        director = Director(random.Random(f"{seed}/{number}"), contracts)
        try:
            for _ in range(min(STEPS_OF_A_STORY, steps - done)):
                done += 1
                await director.step()
        except Disagreement as told:
            raise Disagreement(f"seed {seed}, story {number}, step {done}\n{told}") from None
        finally:
            director.story.close()
            seen.update(line.split()[0] for line in director.story.lines if not line.startswith(">"))
    return seen


def main(arguments: list[str]) -> int:
    """Print how often each step and answer came, or the first disagreement; 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.drive")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--steps", type=int, default=2_000)
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    print(f"oracle: seed {seed}, {options.steps} steps", flush=True)
    try:
        seen = asyncio.run(drive(seed, options.steps))
    except Disagreement as told:
        print(told)
        return 1
    print("agreed: " + ", ".join(f"{name} {count}" for name, count in seen.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
