"""What a machine wrote, and what nobody vouches for: hidden unless exposed, and decided by a person (SPEC 11.9)."""

import pytest

from remit import Authority, Component, Consumer, Decider, DefinitionError, Procedures, Surface, action, reference
from remit.errors import DefinitionCode
from remit.explain import explain
from remit.policies import Deny, Policy, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, contract_of, failed, output

DERIVED = ["domain:orders.**"]
NETWORK = {"mcp": ["domain:**", "view:**"], "page": ["domain:**", "view:**"]}
MCP = Consumer("agent", kind="mcp", scope=["domain:**", "view:**"])
backend = Procedures()


@backend.operation("orders.note", effect="server-mutation")
async def note(order: str, text: str) -> str:
    """Write a note on an order."""
    return f"{order}: {text}"


@backend.operation("orders.cancel", effect="destructive")
async def cancel(order: str) -> None:
    """Cancel an order."""


@backend.operation("orders.find", effect="server-query")
async def find(words: str) -> list[str]:
    """Find orders by words."""
    return [words]


class Orders(Component, type="orders", headless=True):
    """The orders, as their page lets a person work on them."""

    note = reference("domain:orders.note", source="derived")
    cancel = reference("domain:orders.cancel", source="derived")
    find = reference("domain:orders.find", source="derived")


class Desk(Component, type="desk"):
    """Declared by a person, who is not sure of all of it."""

    note = reference("domain:orders.note", fidelity="medium")
    find = reference("domain:orders.find", fidelity="low")

    @action(fidelity="low")
    def sort(self) -> None:
        """Sort the list."""

    @action
    def scroll(self) -> None:
        """Scroll the list."""


def opened(
    *,
    exposure: dict[str, list[str]] | None = None,
    narrowed: dict[str, list[str]] | None = None,
    component: type[Component] = Orders,
    policies: tuple[Policy, ...] = (),
) -> Surface:
    authority = authority_of(component, procedures=backend, exposure=exposure)
    surface = Surface(authority, principal="operator", procedures=backend, exposure=narrowed, policies=policies)
    surface.mount(component())
    surface.confirmations.subscribe(lambda request: None)
    return surface


def listed(surface: Surface, consumer: Consumer = AGENT) -> dict[str, str]:
    return {one.id: one.descriptor.confirmation.value for one in surface.snapshot(consumer).capabilities()}


@pytest.mark.requirement("11.9-hidden-unless-exposed")
@pytest.mark.parametrize("consumer", [AGENT, MCP, Consumer("copilot", kind="embedded")])
async def test_what_is_derived_answers_like_what_was_never_there(consumer: Consumer) -> None:
    surface = opened(exposure=NETWORK)
    assert listed(surface, consumer) == {}
    answers = []
    for id in ("domain:orders.note", "domain:orders.nope"):
        error = failed(await surface.connect(consumer).call(id, {"order": "a", "text": "b"}), "CAPABILITY_NOT_FOUND")
        answers.append((error.code, error.message, error.details, error.retry))
    assert answers[0] == answers[1]


@pytest.mark.requirement("11.9-hidden-unless-exposed")
def test_a_site_exposes_what_is_derived_by_its_patterns_at_the_doors_that_are_open() -> None:
    surface = opened(exposure={"mcp": ["domain:orders.*"], "derived": ["domain:orders.note", "domain:orders.find"]})
    assert set(listed(surface)) == {"domain:orders.note", "domain:orders.find"}
    assert set(listed(surface, MCP)) == {"domain:orders.note", "domain:orders.find"}
    closed = opened(exposure={"derived": DERIVED})
    assert len(listed(closed)) == 3
    assert listed(closed, MCP) == {}, "it says what there is, and opens no door"


@pytest.mark.requirement("11.9-hidden-unless-exposed")
def test_a_surface_only_narrows_what_the_site_exposes_of_what_is_derived() -> None:
    everything = {**NETWORK, "derived": DERIVED}
    assert set(listed(opened(exposure=everything, narrowed={"derived": ["domain:orders.find"]}), MCP)) == {
        "domain:orders.find"
    }
    assert listed(opened(exposure=NETWORK, narrowed={"derived": DERIVED}), MCP) == {}
    assert set(listed(opened(exposure=everything, narrowed={"mcp": ["domain:orders.note"]}), MCP)) == {
        "domain:orders.note"
    }
    with pytest.raises(DefinitionError, match="there is no door 'derive'"):
        opened(narrowed={"derive": DERIVED})


@pytest.mark.requirement("11.9-hidden-unless-exposed")
def test_developers_and_start_up_are_told_why_it_is_hidden() -> None:
    surface = opened(exposure=NETWORK)
    (first, *_) = explain(surface, MCP)
    assert (first.outcome, first.why) == ("hidden", "derived, and the site does not expose it")
    assert [each.kind.value for each in surface.findings() if each.kind.value == "nobody-decides"] == []
    assert surface_reach(NETWORK) == set()
    assert surface_reach({**NETWORK, "derived": ["domain:orders.note"]}) == {"domain:orders.note"}


def surface_reach(exposure: dict[str, list[str]]) -> set[str]:
    return set(authority_of(Orders, procedures=backend, exposure=exposure).reach("mcp"))


@pytest.mark.requirement("11.9-below-high-a-person-decides")
def test_below_high_a_person_decides_about_all_but_reads() -> None:
    surface = opened(exposure={**NETWORK, "derived": DERIVED})
    assert listed(surface) == {
        "domain:orders.note": "required",
        "domain:orders.cancel": "always",
        "domain:orders.find": "never",
    }
    assert listed(opened(component=Desk)) == {
        "domain:orders.note": "required",
        "domain:orders.find": "never",
        "view:desk.sort": "required",
        "view:desk.scroll": "never",
    }


@pytest.mark.requirement("11.9-below-high-a-person-decides")
@pytest.mark.parametrize("consumer", [AGENT, MCP])
async def test_a_call_of_what_nobody_vouches_for_waits_for_a_person(consumer: Consumer) -> None:
    surface = opened(exposure={**NETWORK, "derived": DERIVED})
    agent = surface.connect(consumer)
    call = {"order": "a", "text": "b"}
    asked = failed(await agent.call("domain:orders.note", call), "CONFIRMATION_REQUIRED")
    evidence = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    assert output(await agent.call("domain:orders.note", call, confirmation=evidence)) == "a: b"
    assert output(await agent.call("domain:orders.find", {"words": "late"})) == ["late"], "a read asks nobody"


class Agrees(Policy, name="agrees"):
    async def review(self, ctx: ReviewContext) -> None | Deny | RequireConfirmation:
        return None


@pytest.mark.requirement("11.9-below-high-a-person-decides")
async def test_no_opinion_of_a_policy_replaces_the_person() -> None:
    surface = opened(component=Desk, policies=(Agrees(),))
    failed(await surface.connect(AGENT).call("view:desk.sort"), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("11.9-no-standing-approval")
async def test_no_approval_for_the_session_covers_it() -> None:
    surface = opened(component=Desk)
    asked = failed(await surface.connect(AGENT).call("view:desk.sort"), "CONFIRMATION_REQUIRED")
    request = surface.confirmations.get(str(asked.details["confirmation_id"]), Decider("operator"))
    assert request is not None and request.standing is None
    with pytest.raises(DefinitionError, match="nothing may vary"):

        class Varies(Component, type="varies"):
            """Varies."""

            @action(fidelity="low", confirmation="required", may_vary=("colour",))
            def paint(self, colour: str) -> None:
                """Paint."""

        authority_of(Varies)


@pytest.mark.requirement("11.9-below-high-a-person-decides")
@pytest.mark.parametrize("level", ["never", "optional"])
def test_no_reason_lowers_what_nobody_vouches_for(level: str) -> None:
    class Lowered(Component, type="lowered"):
        """Lowered."""

        note = reference(
            "domain:orders.note",
            fidelity="medium",
            confirmation=level,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            reason="it is harmless",
        )

    with pytest.raises(DefinitionError, match="no read, and of medium fidelity, is not below 'required'"):
        authority_of(Lowered, procedures=backend)


@pytest.mark.requirement("11.9-unreviewed-is-destructive")
def test_a_derived_action_whose_effect_nobody_said_is_none() -> None:
    with pytest.raises(DefinitionError, match="nobody has said its effect") as found:

        class Guessed(Component, type="guessed"):
            """Guessed."""

            @action(source="derived")
            def press(self) -> None:
                """Press the button."""

    assert found.value.code is DefinitionCode.PLANE_VIOLATION

    class Reviewed(Component, type="reviewed"):
        """Reviewed."""

        @action(source="derived", effect="local-state")
        def press(self) -> None:
            """Press the button."""

    assert authority_of(Reviewed).capability_ids == {"view:reviewed.press"}


@pytest.mark.requirement("11.9-in-the-contract")
def test_the_contract_says_who_wrote_it_and_how_well_it_is_known_where_that_is_not_as_usual() -> None:
    contract = contract_of(Orders, procedures=backend).decode()
    assert contract.count('"source": "derived"') == contract.count('"fidelity": "low"') == 3
    plain = contract_of(Desk, procedures=backend).decode()
    assert '"source"' not in plain
    assert (plain.count('"fidelity": "medium"'), plain.count('"fidelity": "low"')) == (1, 2)


@pytest.mark.requirement("11.9-in-the-contract")
def test_a_class_that_was_derived_and_is_declared_now_is_not_mounted() -> None:
    class Edited(Component, type="orders", headless=True):
        """The orders, as their page lets a person work on them."""

        note = reference("domain:orders.note", fidelity="low")
        cancel = reference("domain:orders.cancel", source="derived")
        find = reference("domain:orders.find", source="derived")

    authority: Authority = authority_of(Orders, procedures=backend)
    surface = Surface(authority, principal="operator", procedures=backend)
    with pytest.raises(DefinitionError, match="source"):
        surface.mount(Edited())


@pytest.mark.requirement("11.9-in-the-contract")
@pytest.mark.parametrize(("field", "word"), [("source", "guessed"), ("fidelity", "sure")])
def test_another_word_is_refused_where_the_class_is_made(field: str, word: str) -> None:
    with pytest.raises(DefinitionError, match=f"{field}='{word}'"):

        class Odd(Component, type="odd"):
            """Odd."""

            note = reference("domain:orders.note", **{field: word})  # type: ignore[arg-type]


@pytest.mark.requirement("11.3-fidelity-and-source")
def test_a_listing_and_a_tool_say_what_is_not_as_usual() -> None:
    surface = opened(exposure={**NETWORK, "derived": DERIVED})
    forms = {one.id: one.to_json() for one in surface.snapshot(AGENT).capabilities()}
    assert {(form["source"], form["fidelity"]) for form in forms.values()} == {("derived", "low")}
    desk = {one.id: one.to_json() for one in opened(component=Desk).snapshot(AGENT).capabilities()}
    assert desk["domain:orders.note"]["fidelity"] == "medium" and "source" not in desk["domain:orders.note"]
    assert not {"fidelity", "source"} & set(desk["view:desk.scroll"])
    definitions = [tool.definition for tool in surface.connect(AGENT).toolset().listing().tools]
    texts = {each.id: each.description for each in definitions}
    start = "[domain · server-mutation · requires confirmation · low fidelity]"
    assert texts["domain:orders.note"].startswith(start)
