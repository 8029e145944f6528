"""Views and people at the page protocol: the view that is worked in, who decides, how a call goes on (SPEC 7, 11)."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from remit import Decider, Principal
from tests.adapters.page_client import DISABLE, READ, SELECT, Form, PageClient, calling, error_of, output_of, token_for
from tests.adapters.site import AUDITOR, OPERATOR, PATIENCE_S, Site, Table, serving

PERSON = Decider("operator")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


def with_table(site: Site, principal: Principal = OPERATOR, *, title: str = "Devices", tab: str | None = None) -> str:
    """A view with a table in it; its id."""
    view = site.open(principal, title=title, tab=tab)
    view.surface.mount(Table())
    return view.id


@pytest.mark.requirement("11.12-views-at-the-page-protocol")
async def test_with_no_view_open_every_verb_says_so(site: Site) -> None:
    async with calling(site) as client:
        for answer in (await client.describe(), await client.invoke(READ)):
            error = error_of(answer)
            assert error["code"] == "SURFACE_UNREACHABLE"
            assert error["details"] == {"outcome": "none", "reason": "no view is open"}


@pytest.mark.requirement("11.12-views-at-the-page-protocol", "11.12-the-choice-never-follows-focus")
async def test_several_views_are_told_apart_and_one_is_chosen_by_name(site: Site) -> None:
    first, second = with_table(site), with_table(site)
    async with calling(site) as client:
        for answer in (await client.describe(), await client.invoke(READ)):
            error = error_of(answer)
            assert error["code"] == "AMBIGUOUS_INSTANCE"
            told = [(row["view"], row["title"], row["route"]) for row in error["details"]["views"]]
            assert told == [(first, "Devices", "/devices"), (second, "Devices (2)", "/devices")]
        described = await client.describe(view=second)
        assert (described["view"], described["title"]) == (second, "Devices (2)")
        assert [(row["view"], row["in_use"]) for row in described["views"]] == [(first, False), (second, True)]
        # Whatever the person opens, closes or turns to meanwhile, the choice stays.
        third = with_table(site, title="Reports")
        site.gateway.disconnected(first)
        site.gateway.connected(first)
        output_of(await client.act(SELECT, {"ids": ["d1"]}))
        described = await client.describe()
        assert described["view"] == second
        assert {row["view"] for row in described["views"]} == {first, second, third}
        unknown = error_of(await client.describe(view="vew_invented"))
        assert (unknown["code"], unknown["details"]["reason"]) == ("SURFACE_UNREACHABLE", "there is no such open view")
        assert (await client.describe())["view"] == second


@pytest.mark.requirement("11.12-views-at-the-page-protocol")
@pytest.mark.parametrize("verb", ["describe", "invoke"])
async def test_a_chosen_view_that_closes_is_told_once(site: Site, verb: str) -> None:
    first, second = with_table(site), with_table(site, title="Reports")
    async with calling(site) as client:
        await client.describe(view=second)
        site.gateway.close_view(second)
        body = {} if verb == "describe" else {"capability": READ}
        error = error_of(await client.ask(verb, body))
        assert (error["code"], error["details"]["reason"]) == ("SURFACE_UNREACHABLE", "the chosen view is not open")
        assert [row["view"] for row in error["details"]["views"]] == [first]
        assert (await client.describe())["view"] == first


@pytest.mark.requirement("11.12-views-at-the-page-protocol")
async def test_a_reload_takes_the_choice_along_and_no_registration(site: Site) -> None:
    first = with_table(site, tab="tab-1")
    with_table(site, tab="tab-2")
    async with calling(site) as client:
        described = await client.describe(view=first)
        registration = next(each["registration"] for each in described["capabilities"] if each["id"] == SELECT)
        reloaded = with_table(site, tab="tab-1")
        stale = error_of(await client.invoke(SELECT, {"ids": ["d1"]}, registration=registration))
        assert stale["code"] == "STALE_CAPABILITY"
        reload = error_of(await client.invoke(READ, surface=described["surface"]))
        assert (reload["code"], reload["details"]["reason"]) == ("STALE_CAPABILITY", "surface-reloaded")
        assert (await client.describe())["view"] == reloaded


@pytest.mark.requirement("11.12-one-person-never-reaches-anothers-view-at-the-page-protocol")
async def test_a_view_of_another_person_is_neither_told_nor_chosen(site: Site) -> None:
    own, others = with_table(site), with_table(site, AUDITOR, title="Secret")
    async with calling(site) as client:
        described = await client.describe()
        assert [row["view"] for row in described["views"]] == [own]
        foreign = error_of(await client.describe(view=others))
        assert foreign == error_of(await client.describe(view="vew_invented"))
    with_table(site)
    async with calling(site, token_for(site, session=own)) as confined:
        assert [row["view"] for row in (await confined.describe())["views"]] == [own]


async def asked(client: PageClient, **more: Any) -> Form:
    """A destructive call that a person must decide; what it answers."""
    answer = await client.act(DISABLE, **more)
    error = error_of(answer)
    assert (error["code"], error["retry"]) == ("CONFIRMATION_REQUIRED", "with-confirmation")
    return answer


async def approve(site: Site, confirmation: str) -> None:
    """The person approves what they were shown."""
    view = site.gateway.decisions.get(confirmation, PERSON)
    assert view is not None
    assert await site.gateway.decisions.approve(confirmation, PERSON, digest=view.digest)


@pytest.mark.requirement("7.7-evidence-at-the-page-protocol")
@pytest.mark.parametrize("own", ["mine-1", None])
async def test_a_call_that_needs_a_person_says_where_and_goes_on_by_its_invocation_id(
    site: Site, own: str | None
) -> None:
    _, table = site.open_table()
    table.selected = ["d1", "d2"]
    async with calling(site) as client:
        answer = await asked(client, **({} if own is None else {"invocation": own}))
        details, invocation = answer["error"]["details"], answer["invocation"]
        confirmation = details["confirmation_id"]
        assert details["url"] == f"{site.address}/remit/confirmations/{confirmation}"
        async with httpx2.AsyncClient(timeout=PATIENCE_S, cookies={"account": "operator"}) as person:
            assert (await person.get(details["url"])).status_code == 200
        # Undecided: the same request, nothing runs, nobody is asked twice.
        pending = await asked(client, invocation=invocation, confirmation=confirmation)
        assert pending["error"]["details"]["confirmation_id"] == confirmation
        await approve(site, confirmation)
        done = await client.act(DISABLE, invocation=invocation, confirmation=confirmation)
        assert (output_of(done), done["invocation"]) == (2, invocation)
        again = await client.act(DISABLE, invocation=invocation, confirmation=confirmation)
        assert (output_of(again), site.backend.disabled) == (2, [["d1", "d2"]])
        unnamed = await client.act(DISABLE, confirmation=confirmation)
        assert (output_of(unnamed), unnamed["invocation"]) == (2, invocation)
        spent = error_of(await client.act(DISABLE, invocation="other", confirmation=confirmation))
        assert (spent["code"], spent["details"]) == ("CONFIRMATION_INVALID", {"reason": "spent", "outcome": "done"})
        assert site.backend.disabled == [["d1", "d2"]]


@pytest.mark.requirement("7.7-evidence-at-the-page-protocol")
async def test_evidence_covers_one_caller_and_one_exact_call(site: Site) -> None:
    _, table = site.open_table()
    table.selected = ["d1"]
    async with calling(site) as client, calling(site, token_for(site, actor="another")) as other:
        confirmation = (await asked(client))["error"]["details"]["confirmation_id"]
        await approve(site, confirmation)
        foreign = error_of(await other.act(DISABLE, confirmation=confirmation))
        invented = error_of(await other.act(DISABLE, confirmation="cnf_invented"))
        assert foreign == invented
        assert foreign["details"]["reason"] == "mismatch"
        table.selected = ["d1", "d3"]
        assert error_of(await client.act(DISABLE, confirmation=confirmation))["details"]["reason"] == "mismatch"
        assert site.backend.disabled == []


@pytest.mark.requirement("7.7-evidence-at-the-page-protocol")
async def test_a_denial_is_final_and_said_so(site: Site) -> None:
    _, table = site.open_table()
    table.selected = ["d1"]
    async with calling(site) as client:
        confirmation = (await asked(client))["error"]["details"]["confirmation_id"]
        assert await site.gateway.decisions.deny(confirmation, PERSON)
        for more in ({"confirmation": confirmation}, {}):
            error = error_of(await client.act(DISABLE, **more))
            assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "denied")
        assert site.backend.disabled == []
