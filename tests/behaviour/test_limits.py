"""Limits are settable and enforced, and a refusal says which (SPEC 17)."""

import pytest

from remit import Component, Invocation, Limits, Surface, Unavailable, action, q
from tests.behaviour.conftest import AGENT, authority_of, failed


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
@pytest.mark.parametrize("most", [128, 4])
async def test_a_correlation_id_over_its_limit_is_refused_naming_the_limit(most: int) -> None:
    surface = Surface(authority_of(Page), principal="operator", limits=Limits(correlation_id=most))
    surface.mount(Page())
    error = failed(
        await surface.invoke(Invocation("view:page.put", correlation_id="c" * (most + 1)), AGENT), "INVALID_INPUT"
    )
    assert f"`correlation_id` must be 1 to {most} characters" in str(error.details["issues"])


@pytest.mark.requirement("3.12-authors-quote-values")
async def test_a_value_that_an_author_quotes_is_one_marked_line_that_cannot_close_its_quotation() -> None:
    surface = Surface(authority_of(Page), principal="operator")
    surface.mount(Page())
    reason = str(failed(await surface.connect(AGENT).call(Page.open)).details["reason"])
    quoted, _, rest = reason.removeprefix("“").partition("”")
    assert rest == " is locked" and len(quoted) == 60 and quoted.startswith("A 'name' x") and quoted.endswith("…")
