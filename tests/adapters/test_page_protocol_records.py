"""Rows and regions at the page protocol: one template for all rows, counted, called by id (SPEC 11.2, 11.6)."""

from collections.abc import AsyncIterator

import pytest

from remit import Component, ReadContext, RecordSet, action, observation
from tests.adapters.page_client import calling, error_of, output_of
from tests.adapters.site import Site, serving

NOTE = "view:more.orders.updateNote"


class Orders(Component, type="more.orders"):
    """The orders on this page."""

    def __init__(self) -> None:
        self.notes = {"o1": "", "o2": "", "o3": ""}

    @action(record="order")
    def update_note(self, order: str, note: str) -> None:
        """Update the note on an order."""
        self.notes[order] = note

    @update_note.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.notes, offscreen=["o3"])


class Panel(Component, type="more.panel"):
    """A part of the page with orders in it."""

    @observation
    def read_title(self) -> str:
        """Its title."""
        return "Orders"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(more=(Orders, Panel)) as running:
        yield running


@pytest.mark.requirement("11.6-rows-at-the-page-protocol", "11.3-a-descriptor")
async def test_a_template_is_told_with_its_kind_its_region_and_its_counts_and_acts_on_one_row(site: Site) -> None:
    surface, orders = site.open().surface, Orders()
    panel = surface.mount(Panel())
    surface.mount(orders, parent=panel)
    async with calling(site) as client:
        listed = await client.listed()
        told = listed[f"{NOTE}@order"]
        assert told["record"] == {"param": "record", "total": 3, "offscreen": 1}
        assert (told["offscreen"], told["scopePath"], told["effect"]) == (True, ["more.panel"], "write")
        assert set(told["inputSchema"]["properties"]) == {"note"}
        for id, row in ((f"{NOTE}@order", "o1"), (f"{NOTE}@order#default", "o3"), (NOTE, "o2")):
            call = {"record": row, "note": f"by {id}"}
            output_of(await client.invoke(id, call, registration=told["registration"]))
            assert orders.notes[row] == f"by {id}"


@pytest.mark.requirement("11.6-rows-at-the-page-protocol")
async def test_a_row_out_of_reach_a_made_up_one_and_none_at_all_get_one_answer(site: Site) -> None:
    surface, orders = site.open().surface, Orders()
    surface.mount(orders)
    async with calling(site) as client:
        registration = (await client.listed())[f"{NOTE}@order"]["registration"]
        errors = [
            error_of(await client.invoke(f"{NOTE}@order", {"note": "x", **row}, registration=registration))
            for row in ({"record": "o9"}, {"record": ""}, {"record": None}, {"record": ["o1"]}, {"record": True}, {})
        ]
        assert all(error == errors[0] for error in errors)
        assert (errors[0]["code"], orders.notes) == ("RECORD_UNAVAILABLE", {"o1": "", "o2": "", "o3": ""})
        wrong = {"record": "o1", "note": "x"}
        kind = error_of(await client.invoke(f"{NOTE}@invoice", wrong, registration=registration))
        assert (kind["code"], orders.notes["o1"]) == ("CAPABILITY_NOT_FOUND", "")
