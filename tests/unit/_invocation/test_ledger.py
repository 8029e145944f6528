"""What is kept of consumers that come and go (SPEC 6.4, 15.3)."""

import pytest

from remit import Component, Consumer, ManualClock, Surface, action
from remit._invocation.ledger import CONSUMERS
from tests.behaviour.conftest import authority_of, output


class Page(Component, type="page"):
    """A page."""

    def __init__(self) -> None:
        self.ran = 0

    @action
    def put(self) -> int:
        """Put."""
        self.ran += 1
        return self.ran


@pytest.mark.requirement("6.4-consumers-are-forgotten")
async def test_nothing_is_left_of_consumers_whose_outcomes_have_had_their_time() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Page), principal="operator", clock=clock)
    page = Page()
    surface.mount(page)
    ledger = surface._parts.parts.ledger
    number = 0
    for number in range(3 * CONSUMERS):
        consumer = Consumer("agent", kind="test", grant=f"g{number}")
        output(await surface.connect(consumer).call(Page.put, id="once"))
        clock.advance(10)
    assert len(ledger._of) <= CONSUMERS + 1
    assert ledger._of.keys() == ledger._at_most.keys()
    assert output(await surface.connect(Consumer("agent", kind="test", grant=f"g{number}")).call(Page.put, id="once"))
    assert page.ran == 3 * CONSUMERS, "the last one's outcome is still kept"
