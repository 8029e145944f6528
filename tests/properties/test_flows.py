"""Whatever its steps are, a flow is no less strict than any of them, and hidden with each of them (SPEC 11.8)."""

import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import Component, Consumer, Effect, Procedures, Steps, Surface, action, flow, observation, reference
from remit._contract.row import rows_of
from remit._model.effects import Confirmation
from tests.behaviour.conftest import authority_of

backend = Procedures()
CONFIRMATIONS = ("never", "optional", "required", "always")
ORDER = (
    Effect.READ,
    Effect.SERVER_QUERY,
    Effect.LOCAL_STATE,
    Effect.NAVIGATION,
    Effect.SERVER_MUTATION,
    Effect.EXTERNAL_SIDE_EFFECT,
    Effect.DESTRUCTIVE,
)
PAGE_EFFECT = {Effect.READ: 0, Effect.SERVER_QUERY: 0, Effect.DESTRUCTIVE: 2}

for _effect in (*ORDER[4:], Effect.SERVER_QUERY):
    _named: Any = _effect.value

    @backend.operation(f"log.{_named}", effect=_named)
    async def _run() -> None:
        """Run."""


def made(steps: list[tuple[Effect, str, bool]], own: Any, doors: list[str | None]) -> type[Component]:
    """A component with one capability for each wanted step, and the flow of them in this order."""
    body: dict[str, Any] = {"__doc__": "A log.", "__module__": __name__}
    ids: list[str] = []
    for place, (effect, confirmation, idempotent) in enumerate(steps):
        name = f"step{place}"
        door: Any = None if doors[place] is None else [doors[place]]
        said: Any = confirmation

        def run(self: Any) -> int:
            """Run."""
            return 0

        run.__name__ = name
        if effect is Effect.READ:
            body[name] = observation(doors=door)(run)
        elif effect in {Effect.LOCAL_STATE, Effect.NAVIGATION}:
            moves: Any = effect.value
            body[name] = action(effect=moves, confirmation=said, idempotent=idempotent, doors=door)(run)
        elif f"domain:log.{effect.value}" in ids:
            ids.append(f"domain:log.{effect.value}")
            continue
        else:
            body[name] = reference(f"domain:log.{effect.value}", doors=door)
            ids.append(f"domain:log.{effect.value}")
            continue
        ids.append(f"view:log.{name}")

    async def whole(self: Any, steps: Steps) -> None:
        """Run them all."""

    body["whole"] = flow(steps=ids, effect=own)(whole)
    return types.new_class("Log", (Component,), {"type": "log"}, lambda namespace: namespace.update(body))


step = st.tuples(st.sampled_from(ORDER), st.sampled_from(CONFIRMATIONS), st.booleans())
wanted = st.lists(step, min_size=1, max_size=6)


@pytest.mark.requirement("11.8-worst-of-its-steps")
@settings(max_examples=60, deadline=None)
@given(steps=wanted, own=st.sampled_from(["local-state", "navigation"]))
def test_a_flow_is_at_least_as_strict_as_each_of_its_steps(steps: list[tuple[Effect, str, bool]], own: str) -> None:
    log = made(steps, own, [None] * len(steps))
    authority = authority_of(log, procedures=backend)
    plans = {plan.id: plan for plan in authority.seal(log).plans}
    whole = plans["view:log.whole"]
    assert whole.flow is not None
    assert [each.id for each in whole.flow.steps] == list(whole.descriptor.steps)
    strictest = max([Effect(own), *(each.descriptor.effect for each in whole.flow.steps)], key=ORDER.index)
    assert whole.descriptor.effect is strictest
    assert not whole.descriptor.effect.reads_only
    for each in whole.flow.steps:
        assert whole.descriptor.confirmation.rank >= each.descriptor.confirmation.rank
        assert PAGE_EFFECT.get(whole.descriptor.effect, 1) >= PAGE_EFFECT.get(each.descriptor.effect, 1)
        assert each.descriptor.reversible is not False or whole.descriptor.reversible is False
    most = max(each.descriptor.confirmation.rank for each in whole.flow.steps)
    assert whole.descriptor.confirmation.rank == most or whole.descriptor.confirmation is Confirmation.ALWAYS


@pytest.mark.requirement("11.8-hidden-with-a-step")
@settings(max_examples=60, deadline=None)
@given(
    steps=wanted,
    doors=st.lists(st.sampled_from([None, "embedded", "test", "page"]), min_size=6, max_size=6),
    kind=st.sampled_from(["embedded", "test", "page"]),
    scope=st.sampled_from([("view:**", "domain:**"), ("view:**",), ("view:log.whole", "domain:**")]),
)
def test_a_flow_is_listed_only_where_all_of_its_steps_are(
    steps: list[tuple[Effect, str, bool]], doors: list[str | None], kind: Any, scope: tuple[str, ...]
) -> None:
    log = made(steps, "local-state", doors)
    authority = authority_of(log, procedures=backend, exposure={"page": ["view:**", "domain:**"]})
    surface = Surface(authority, principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(log())
    listed = {each.id for each in surface.connect(Consumer("agent", kind=kind, scope=scope)).capabilities()}
    [row] = [each for each in rows_of(log, authority.operations).capabilities if each.attribute == "whole"]
    ids: Any = row.block["steps"]
    assert ("view:log.whole" in listed) == all(each in listed for each in ids)
    surface.dispose()
