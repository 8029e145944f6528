"""Limits are settable and enforced, and a refusal says which (SPEC 17)."""

import pytest

from remit import Component, Invocation, Limits, Refused, Surface, Unavailable, action, q
from remit.policies import Deny, Policy, PolicyContext, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output


class Page(Component, type="page"):
    """A page."""

    @action
    def put(self) -> None:
        """Put."""

    @put.note
    def _(self) -> str:
        return "n" * 1_000

    @action
    def open(self) -> None:
        """Open."""

    @open.available
    def _(self) -> Unavailable:
        return Unavailable(f"{q('A “name”' + chr(0x202E) + chr(10) + 'x' * 100)} is locked")


@pytest.mark.requirement("17-texts-of-callers-and-notes")
@pytest.mark.parametrize("most", [300, 5])
def test_a_note_is_cut_at_its_limit(most: int) -> None:
    surface = Surface(authority_of(Page), principal="operator", limits=Limits(note=most))
    surface.mount(Page())
    listed = next(one for one in surface.connect(AGENT).capabilities() if one.id == Page.put.id)
    assert listed.note == "n" * (most - 1) + "…"


@pytest.mark.requirement("17-texts-of-callers-and-notes")
@pytest.mark.parametrize("most", [128, 4, 200])
async def test_a_correlation_id_over_its_limit_is_refused_naming_the_limit(most: int) -> None:
    surface = Surface(authority_of(Page), principal="operator", limits=Limits(correlation_id=most))
    surface.mount(Page())
    error = failed(
        await surface.invoke(Invocation("view:page.put", correlation_id="c" * (most + 1)), AGENT), "INVALID_INPUT"
    )
    assert f"`correlation_id` must be 1 to {most} characters" in str(error.details["issues"])
    output(await surface.invoke(Invocation("view:page.put", correlation_id="c" * most), AGENT))
    assert surface.audit(types=["invocation"])[-1].correlation_id == "c" * most


@pytest.mark.requirement("3.12-authors-quote-values")
async def test_a_value_that_an_author_quotes_is_one_marked_line_that_cannot_close_its_quotation() -> None:
    surface = Surface(authority_of(Page), principal="operator")
    surface.mount(Page())
    reason = str(failed(await surface.connect(AGENT).call(Page.open)).details["reason"])
    quoted, _, rest = reason.removeprefix("“").partition("”")
    assert rest == " is locked" and len(quoted) == 60 and quoted.startswith("A 'name' x") and quoted.endswith("…")


LONG = "r" * 1_000


class Denying(Policy, name="denying"):
    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny(reason=LONG)


class Desk(Component, type="desk"):
    """A desk."""

    @action
    def pushed(self) -> None:
        """Pushed."""

    @action
    def closed(self) -> None:
        """Closed."""

    @closed.available
    def _(self) -> Unavailable:
        return Unavailable(LONG)

    @action
    def checked(self) -> None:
        """Checked."""

    @checked.precondition
    def _(self) -> Refused | None:
        return Refused(LONG)

    @action
    def refusing(self) -> None | Refused:
        """Refuse."""
        return Refused(LONG)

    @action(policies=(Denying(),))
    def denied(self) -> None:
        """Denied."""


@pytest.mark.requirement("17-every-limit")
@pytest.mark.parametrize("most", [200, 400, 20])
async def test_every_reason_is_cut_at_the_limit_of_run_time_text(most: int) -> None:
    surface = Surface(authority_of(Desk), principal="operator", limits=Limits(runtime_text=most))
    mounted = surface.mount(Desk())
    mounted.update(available={"pushed": LONG})
    agent = surface.connect(AGENT)
    cut = "r" * (most - 1) + "…"
    listed = {one.id: one.reason for one in agent.capabilities()}
    assert (listed["view:desk.pushed"], listed["view:desk.closed"]) == (cut, cut)
    for id in ("pushed", "closed", "checked", "refusing", "denied"):
        error = failed(await surface.invoke(Invocation(f"view:desk.{id}"), AGENT))
        assert error.details["reason"] == cut, id
    mounted.update(enabled=False, reason=LONG)
    assert {one.reason for one in agent.capabilities()} == {cut}


class Asking(Policy, name="asking"):
    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        return RequireConfirmation(summary=BENT)


BENT = "one\nline\u202e\t" + "s" * 1_000


class Drawer(Component, type="drawer"):
    """A drawer."""

    @action(confirmation="required")
    def empty(self) -> None:
        """Empty."""

    @empty.summary
    def _(self) -> str:
        return BENT

    @action(policies=(Asking(),))
    def fill(self) -> None:
        """Fill."""


@pytest.mark.requirement("3.12-every-run-time-text")
@pytest.mark.parametrize("most", [200, 20])
async def test_summaries_reasons_of_a_decision_and_routes_are_one_capped_line(most: int) -> None:
    surface = Surface(authority_of(Drawer), principal="operator", limits=Limits(runtime_text=most))
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Drawer())
    agent = surface.connect(AGENT)
    line = "one line " + "s" * (most - 10) + "…"
    ids: list[str] = []
    for capability in (Drawer.empty, Drawer.fill):
        ids.append(str(failed(await agent.call(capability), "CONFIRMATION_REQUIRED").details["confirmation_id"]))
        view = surface.confirmations.get(ids[-1])
        assert view is not None and view.summary == line
    ahead = await surface.preflight(Invocation(Drawer.empty.id), AGENT)
    assert ahead.question is not None and ahead.question.summary == line
    await surface.confirmations.deny(ids[0], OPERATOR, BENT)
    assert [entry.why for entry in surface.audit(types=["confirmation"])][-1] == line
    surface.set_route(BENT)
    assert surface.route == surface.snapshot(AGENT).route == line
