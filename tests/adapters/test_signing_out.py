"""Who has signed out has no view any more, from the next request of an agent on (SPEC 4.0, 6.2, 11.12)."""

import httpx2
import pytest

from tests.adapters.asgi_site import ADA, CANCEL, NOTE, SCOPE, Site, serving
from tests.adapters.site import PATIENCE_S


def agent(site: Site) -> httpx2.AsyncClient:
    """A caller of the page protocol."""
    token = site.gateway.delegate(ADA, actor="agent", scope=SCOPE, kind="page")
    return httpx2.AsyncClient(
        base_url=f"{site.address}/remit/page",
        headers={"Authorization": f"Bearer {token}"},
        timeout=PATIENCE_S,
        trust_env=False,
    )


@pytest.mark.requirement("11.12-no-view-of-who-signed-out")
@pytest.mark.parametrize("first", ["describe", "invoke", "chosen", "handoff"])
async def test_whoever_signed_out_has_no_view_for_agents_at_once(first: str) -> None:
    async with serving() as site, site.page(), site.page("g"), agent(site) as http:
        listed = (await http.post("/describe", json={})).json()
        assert listed["ok"] and len(listed["views"]) == 1
        registration = next(each for each in listed["capabilities"] if each["id"].startswith(NOTE))["registration"]
        call = {"capability": f"{NOTE}@order", "registration": registration, "input": {"record": "o-1", "text": "late"}}
        cancel = {"capability": CANCEL, "input": {"order": "o-1"}}
        asked = {
            "describe": ("/describe", {}),
            "invoke": ("/invoke", call),
            "chosen": ("/describe", {"view": listed["view"]}),
            "handoff": ("/handoff", {"handoff": "hof_none"}),
        }[first]
        del site.sign_ins.people["a"]
        for path, body in (asked, ("/invoke", call), ("/invoke", cancel), ("/describe", {})):
            answer = (await http.post(path, json=body)).json()
            assert not answer["ok"] and answer["error"]["code"] == "SURFACE_UNREACHABLE", answer
            assert answer["error"]["retry"] != "yes"
        assert [view["title"] for view in site.opened()] == ["Orders"], "somebody else's is open as before"


@pytest.mark.requirement("11.12-no-view-of-who-signed-out")
async def test_a_view_of_a_second_sign_in_is_the_one_that_is_left() -> None:
    async with serving() as site, agent(site) as http:
        site.sign_ins.people["b"] = ADA
        async with site.page(), site.page("b") as left:
            assert (await http.post("/describe", json={})).json()["error"]["code"] == "AMBIGUOUS_INSTANCE"
            del site.sign_ins.people["a"]
            listed = (await http.post("/describe", json={})).json()
            assert listed["ok"] and [view["view"] for view in listed["views"]] == [listed["view"]]
            del site.sign_ins.people["b"]
            assert (await http.post("/describe", json={})).json()["error"]["code"] == "SURFACE_UNREACHABLE"
            assert left.view.exists, "its own socket ends it"
