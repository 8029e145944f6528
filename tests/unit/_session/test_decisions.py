"""Deciding over all open views: everybody sees and decides only what they could decide."""

import pytest

from remit import Component, Decider, ManualClock, Ok, Principal, Surface, action
from remit._base.limits import Limits
from remit._session.decisions import Decisions
from remit._session.session import Session
from remit._session.views import Views
from tests.behaviour.conftest import AGENT, authority_of, failed, output

ADA, BOB, EVE = Principal("ada"), Principal("bob"), Decider("eve")
AS_ADA, AS_BOB = Decider("ada"), Decider("bob")


class Orders(Component, type="orders"):
    """The orders of a page."""

    @action(confirmation="required", may_vary=("note",))
    def annotate(self, row: int, note: str = "") -> str:
        """Write a note at a row."""
        return f"{row}{note}"


class House:
    """Two open views of two people, and who decides."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.views = Views(self.clock, Limits())
        self.decisions = Decisions(self.views)
        self.surfaces = {person.id: self._open(person) for person in (ADA, BOB)}

    def _open(self, person: Principal) -> Surface:
        surface = Surface(authority_of(Orders), principal=person, clock=self.clock)
        surface.mount(Orders())
        surface.confirmations.attach_page()
        view = Session(
            id=f"vew_{person.id}",
            principal=person.key,
            title="Orders",
            opened_at=self.clock.now(),
            surface=surface,
        )
        self.views.add(view)
        self.views.connect(view, None)
        return surface

    async def ask(self, person: str, row: int, note: str = "") -> str:
        outcome = await self.surfaces[person].connect(AGENT).call(Orders.annotate, {"row": row, "note": note})
        return str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])

    def digest(self, id: str, decider: Decider) -> str:
        view = self.decisions.get(id, decider)
        assert view is not None
        return view.digest


@pytest.mark.requirement("7.4-the-principal-decides")
async def test_everybody_sees_their_own_requests_oldest_first() -> None:
    house = House()
    first = await house.ask("ada", 1)
    house.clock.advance(1)
    other = await house.ask("bob", 2)
    house.clock.advance(1)
    last = await house.ask("ada", 3)
    assert [view.id for view in house.decisions.pending(AS_ADA)] == [first, last]
    assert [view.id for view in house.decisions.pending(AS_BOB)] == [other]
    assert house.decisions.pending(EVE) == ()
    assert house.decisions.get(other, AS_ADA) is None
    assert house.decisions.get("cnf_none", AS_BOB) is None


@pytest.mark.requirement("7.4-the-principal-decides")
async def test_what_was_shown_is_approved_once_by_whom_it_belongs_to() -> None:
    house = House()
    id = await house.ask("bob", 1)
    digest = house.digest(id, AS_BOB)
    assert not await house.decisions.approve(id, AS_ADA, digest=digest)
    assert not await house.decisions.approve("cnf_none", AS_BOB, digest=digest)
    assert not await house.decisions.approve(id, AS_BOB, digest="another")
    assert await house.decisions.approve(id, AS_BOB, digest=digest)
    assert not await house.decisions.approve(id, AS_BOB, digest=digest)
    call = {"row": 1, "note": ""}
    outcome = await house.surfaces["bob"].connect(AGENT).call(Orders.annotate, call, confirmation=id)
    assert output(outcome) == "1"


@pytest.mark.requirement("7.5-a-denial-is-final")
async def test_a_request_is_denied_once_by_whom_it_belongs_to() -> None:
    house = House()
    id = await house.ask("ada", 1)
    assert not await house.decisions.deny(id, AS_BOB)
    assert await house.decisions.deny(id, AS_ADA, "not today")
    assert not await house.decisions.deny(id, AS_ADA)
    view = house.decisions.get(id, AS_ADA)
    assert view is not None
    assert view.status.value == "denied"


@pytest.mark.requirement("7.9-for-the-session")
async def test_what_stands_in_any_view_is_seen_and_revoked_by_whom_it_belongs_to() -> None:
    house = House()
    for person, decider in (("ada", AS_ADA), ("bob", AS_BOB), ("ada", AS_ADA)):
        house.clock.advance(1)
        id = await house.ask(person, len(house.decisions.standing(decider)))
        assert await house.decisions.approve(id, decider, digest=house.digest(id, decider), standing=["note"])
    first, last = house.decisions.standing(AS_ADA)
    (other,) = house.decisions.standing(AS_BOB)
    assert first.given_at < other.given_at < last.given_at
    assert not await house.decisions.revoke(other.id, AS_ADA)
    assert await house.decisions.revoke(other.id, AS_BOB)
    assert not await house.decisions.revoke(other.id, AS_BOB)
    assert house.decisions.standing(AS_BOB) == ()
    assert len(house.decisions.standing(AS_ADA)) == 2
    assert isinstance(await house.surfaces["ada"].connect(AGENT).call(Orders.annotate, {"row": 0, "note": "x"}), Ok)
