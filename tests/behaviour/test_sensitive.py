"""Sensitive fields: a person is told that a value is withheld, and nothing keeps it (SPEC 7.2, 3.3)."""

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from remit import (
    Component,
    ConfirmationView,
    Consumer,
    DefinitionError,
    Event,
    Invocation,
    ManualClock,
    Procedures,
    Surface,
    action,
    reference,
)
from remit._model.shown_input import fields_of
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, contract_of, failed, output

SECRET = "sk-4711-prod"
OTHER = "sk-0815-test"
backend = Procedures()
used: list[tuple[str, str]] = []


def weak(value: str) -> str:
    if value == "weak-4711":
        raise ValueError("too weak")
    return value


@backend.operation("keys.rotate", effect="server-mutation", confirmation="required")
async def rotate(name: str, key: str) -> None:
    """Rotate a key."""
    used.append((name, key))


class Keys(Component, type="keys"):
    """The keys of a page."""

    def __init__(self) -> None:
        self.key = SECRET
        self.ran: list[tuple[str, str]] = []

    @action(confirmation="required", audit="full", sensitive=("key",))
    def store(self, name: str, key: Annotated[str, AfterValidator(weak)] = "none yet") -> str:
        """Store a key."""
        self.ran.append((name, key))
        return name

    rotate = reference("domain:keys.rotate", sensitive=("key",), audit="full")

    @rotate.bind("key")
    def _(self) -> str:
        return self.key


class Site:
    """A surface, and everything that it writes or tells."""

    def __init__(self, clock: ManualClock | None = None, **more: Any) -> None:
        self.kept = MemoryStore()
        self.surface = Surface(
            authority_of(Keys, procedures=backend),
            principal="operator",
            procedures=backend,
            clock=clock or ManualClock(),
            store=self.kept,
            **more,
        )
        self.views: list[ConfirmationView] = []
        self.events: list[Event] = []
        self.surface.confirmations.subscribe(self.views.append)
        self.surface.subscribe(self.events.append)
        self.keys = Keys()
        self.surface.mount(self.keys)
        self.agent = self.surface.connect(AGENT)

    async def asked(self, capability: Any = Keys.store, **input: object) -> ConfirmationView:
        error = failed(await self.agent.call(capability, input), "CONFIRMATION_REQUIRED")
        view = self.surface.confirmations.get(str(error.details["confirmation_id"]))
        assert view is not None
        return view

    async def written(self) -> str:
        """All of it, as text."""
        rows = await self.kept.list()
        return repr((rows, self.views, self.events, self.surface.audit(), self.surface.confirmations.pending()))


@pytest.mark.requirement("7.2-sensitive-is-withheld")
async def test_a_person_is_told_that_a_value_is_withheld() -> None:
    site = Site()
    view = await site.asked(name="prod", key=SECRET)
    assert view.withheld == ("key",) and view.input["name"] == "prod"
    shown = {field.path: field for field in fields_of(view)}
    assert shown["key"].withheld and "withheld" in shown["key"].value
    assert not shown["name"].withheld and shown["name"].value == '"prod"'
    plain = await site.surface.preflight(Invocation("view:keys.store", {"name": "prod", "key": SECRET}), AGENT)
    assert plain.question is not None and plain.question.withheld == ("key",)
    assert SECRET not in repr((view, shown, plain))


@pytest.mark.requirement("7.2-sensitive-is-withheld")
async def test_a_bound_value_and_a_default_are_withheld_too() -> None:
    site = Site()
    assert (await site.asked(Keys.rotate, name="prod")).withheld == ("key",)
    assert (await site.asked(name="prod")).withheld == ("key",)
    assert SECRET not in await site.written() and "none yet" not in await site.written()


@pytest.mark.requirement("7.2-sensitive-is-never-written")
async def test_the_value_is_in_no_row_entry_event_issue_or_view() -> None:
    site = Site()
    view = await site.asked(name="prod", key=SECRET)
    await site.surface.confirmations.approve(view.id, OPERATOR, digest=view.digest)
    done = await site.agent.call(Keys.store, {"name": "prod", "key": SECRET}, confirmation=view.id)
    assert output(done) == "prod" and site.keys.ran == [("prod", SECRET)]
    (entry,) = [each for each in site.surface.audit() if each.type == "invocation" and each.code is None]
    assert entry.payload and entry.input == {"name": "prod", "key": "withheld"}
    for wrong in ({"name": 7, "key": SECRET}, {"name": "prod", "key": [SECRET]}, {"name": "a", "key": "weak-4711"}):
        error = failed(await site.agent.call(Keys.store, wrong), "INVALID_INPUT")
        assert "4711" not in repr(error)
    written = await site.written()
    assert "4711" not in written and "digest" in written


@pytest.mark.requirement("7.2-sensitive-is-compared-by-digest")
async def test_the_retry_carries_the_input_and_another_value_is_another_call() -> None:
    site = Site()
    view = await site.asked(name="prod", key=SECRET)
    same = await site.asked(name="prod", key=SECRET)
    other = await site.asked(name="prod", key=OTHER)
    assert same.id == view.id != other.id and view.digest != other.digest
    await site.surface.confirmations.approve(view.id, OPERATOR)
    wrong = await site.agent.call(Keys.store, {"name": "prod", "key": OTHER}, confirmation=view.id)
    assert failed(wrong, "CONFIRMATION_INVALID").details["reason"] == "mismatch"
    literal = await site.agent.call(Keys.store, {"name": "prod", "key": "withheld"}, confirmation=view.id)
    assert failed(literal, "CONFIRMATION_INVALID").details["reason"] == "mismatch"
    right = await site.agent.call(Keys.store, {"name": "prod", "key": SECRET}, confirmation=view.id)
    assert output(right) == "prod" and site.keys.ran == [("prod", SECRET)]


@pytest.mark.requirement("7.2-sensitive-is-compared-by-digest")
async def test_a_retry_without_an_id_of_its_own_runs_under_the_requests() -> None:
    site = Site()
    first = await site.agent.call(Keys.store, {"name": "prod", "key": SECRET}, id="mine")
    request = str(failed(first, "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await site.surface.confirmations.approve(request, OPERATOR)
    done = await site.agent.call(Keys.store, {"name": "prod", "key": SECRET}, confirmation=request)
    assert done.invocation_id == "mine" and output(done) == "prod"


@pytest.mark.requirement("7.2-sensitive-is-compared-by-digest")
async def test_two_surfaces_give_one_value_two_digests() -> None:
    one, two = Site(), Site()
    await one.asked(name="prod", key=SECRET)
    await two.asked(name="prod", key=SECRET)
    (first,), (second,) = await one.kept.list(), await two.kept.list()
    digests = [row.form.partition('"withheld":"')[2][:64] for row in (first, second)]
    assert len(set(digests)) == 2 and all(len(digest) == 64 for digest in digests)


@pytest.mark.requirement("7.2-sensitive-cannot-be-continued")
async def test_it_is_neither_continued_nor_resumed_and_the_answer_says_what_to_do() -> None:
    site = Site()
    view = await site.asked(name="prod", key=SECRET)
    for state in ("pending", "approved"):
        if state == "approved":
            await site.surface.confirmations.approve(view.id, OPERATOR)
        for outcome in (await site.surface.continue_(view.id, AGENT), await site.surface.resume(view.id)):
            error = failed(outcome, "INVALID_INPUT")
            assert "repeat the call itself" in repr(error.details) and error.retry == "with-changes"
    stranger = Consumer("stranger", kind="test")
    unknown = failed(await site.surface.continue_(view.id, stranger), "CONFIRMATION_INVALID")
    assert unknown.details == {"reason": "mismatch"} and site.keys.ran == []
    output(await site.agent.call(Keys.store, {"name": "prod", "key": SECRET}, confirmation=view.id))
    spent = failed(await site.surface.continue_(view.id, AGENT), "CONFIRMATION_INVALID")
    assert spent.details == {"reason": "spent", "outcome": "done"}


@pytest.mark.requirement("7.2-sensitive-cannot-be-continued")
async def test_an_embedded_toolset_that_waits_still_answers_once() -> None:
    site = Site()
    tools = site.surface.connect(Consumer("embedded", kind="embedded")).toolset()
    (name,) = [str(tool["name"]) for tool in tools.definitions() if "store" in str(tool["name"])]

    def approve(view: ConfirmationView) -> None:
        if view.status == "pending":
            approving.append(asyncio.ensure_future(site.surface.confirmations.approve(view.id, OPERATOR)))

    approving: list[asyncio.Future[None]] = []
    site.surface.confirmations.subscribe(approve)
    result = await tools.call(name, {"name": "prod", "key": SECRET})
    assert output(result.outcome) == "prod" and site.keys.ran == [("prod", SECRET)]


@pytest.mark.requirement("7.9-never-a-sensitive-field")
async def test_no_standing_approval_covers_a_sensitive_field() -> None:
    site = Site()
    view = await site.asked(name="prod", key=SECRET)
    assert view.standing is None
    with pytest.raises(ValueError, match="afresh"):
        await site.surface.confirmations.approve(view.id, OPERATOR, standing=())
    with pytest.raises(DefinitionError, match="no standing approval covers"):

        class Both(Component, type="both"):
            """Both marks."""

            @action(confirmation="required", sensitive=("key",), may_vary=("note",))
            def store(self, key: str, note: str) -> None:
                """Store."""

        authority_of(Both)


@pytest.mark.requirement("3.3-sensitive-marks")
def test_the_mark_stands_in_the_contract_and_names_a_field() -> None:
    assert b'"sensitive": [\n        "key"\n      ]' in contract_of(Keys, procedures=backend)
    with pytest.raises(DefinitionError, match="'token', which the input does not have"):

        class Unknown(Component, type="unknown"):
            """No such field."""

            @action(sensitive=("token",))
            def store(self, key: str) -> None:
                """Store."""

        authority_of(Unknown)


@pytest.mark.requirement("3.3-sensitive-marks")
def test_a_mark_that_has_gone_since_the_contract_was_compiled_refuses_the_mount() -> None:
    authority = authority_of(Keys, procedures=backend)
    with pytest.raises(DefinitionError, match="sensitive differs"):

        class Laxer(Component, type="keys"):
            """The keys of a page."""

            @action(confirmation="required", audit="full")
            def store(self, name: str, key: Annotated[str, AfterValidator(weak)] = "none yet") -> str:
                """Store a key."""
                return name

            rotate = reference("domain:keys.rotate", sensitive=("key",), audit="full")

            @rotate.bind("key")
            def _(self) -> str:
                return ""

        Surface(authority, principal="operator", procedures=backend).mount(Laxer())
