"""Pages on other origins as callers of the doors: preflights, and who may read an answer (SPEC 15.4)."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.adapters.page_client import token_for
from tests.adapters.site import PATIENCE_S, Site, serving

ALLOWED = "http://localhost:3000"
FOREIGN = "http://evil.test"
ASKS = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type, mcp-name",
}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.mark.requirement("15.4-preflights")
@pytest.mark.parametrize("path", ["/remit/page/describe", "/remit/mcp"])
async def test_a_preflight_from_an_allowed_origin_is_answered_without_a_token(site: Site, path: str) -> None:
    async with httpx2.AsyncClient(base_url=site.address, timeout=PATIENCE_S) as http:
        allowed = await http.options(path, headers={"Origin": ALLOWED, **ASKS})
        foreign = await http.options(path, headers={"Origin": FOREIGN, **ASKS})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ALLOWED)
    assert "POST" in allowed.headers["access-control-allow-methods"].split(", ")
    assert allowed.headers["access-control-allow-headers"] == ASKS["Access-Control-Request-Headers"]
    assert foreign.status_code == 403
    for answer in (allowed, foreign):
        assert "access-control-allow-credentials" not in answer.headers
    assert not any(name.startswith("access-control") for name in foreign.headers)


@pytest.mark.requirement("15.4-preflights")
async def test_an_answer_may_be_read_by_the_allowed_origin_that_asked_and_by_no_other(site: Site) -> None:
    site.open_table()
    headers = {"Authorization": f"Bearer {token_for(site)}"}
    async with httpx2.AsyncClient(base_url=site.address, timeout=PATIENCE_S) as http:
        read = await http.post("/remit/page/describe", json={}, headers={**headers, "Origin": ALLOWED})
        strange = await http.post("/remit/page/describe", json={}, headers={**headers, "Origin": FOREIGN})
        plain = await http.post("/remit/page/describe", json={}, headers=headers)
        unknown = await http.post("/remit/page/describe", json={}, headers={"Origin": ALLOWED})
    mcp = await site.post(Origin=ALLOWED)
    for answer, status in ((read, 200), (unknown, 401), (mcp, mcp.status_code)):
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, ALLOWED)
        assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
        assert "Origin" in answer.headers["vary"]
        assert "access-control-allow-credentials" not in answer.headers
    assert strange.status_code == 403
    assert not any(name.startswith("access-control-allow") for name in (*strange.headers, *plain.headers))
