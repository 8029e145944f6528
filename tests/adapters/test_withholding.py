"""An answer that holds the token or a cookie of its own request is not handed out (SPEC 11.10)."""

import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from remit import Component, Surface, observation
from tests.adapters.page_client import calling, output_of, plain_socket, token_for
from tests.adapters.site import ERAS, PATIENCE_S, Site, beside, data_of, error_of, serving

COOKIE = "c00kie-that-is-a-secret"
READ = "view:more.mirror.readIt"
TOOL = "view_more__mirror__readIt"
WHY = "the answer held the token or a cookie of its own request"


class Mirror(Component, type="more.mirror"):
    """Shows what somebody wrote on it."""

    def __init__(self) -> None:
        self.text = ""

    @observation
    def read_it(self) -> list[str]:
        """Read."""
        return ["before", f"<{self.text}>"]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(more=(Mirror,)) as running:
        yield running


def opened(site: Site) -> tuple[Surface, Mirror]:
    surface, mirror = site.open().surface, Mirror()
    surface.mount(mirror)
    return surface, mirror


def told(surface: Surface) -> list[tuple[str | None, object]]:
    return [(entry.why, entry.code) for entry in surface.audit(types=["fault"])]


@pytest.mark.requirement("11.10-no-answer-holds-its-own-token")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_output_with_the_token_of_its_request_is_not_handed_out_over_mcp(site: Site, mode: str) -> None:
    surface, mirror = opened(site)
    token, other = site.token(), site.token()
    async with site.client(mode, token=token) as client, site.client(mode, token=other) as second:
        mirror.text = token
        error = error_of(await client.call_tool(TOOL, {}, meta=beside(invocation="one")))
        assert (error["code"], error["details"]["reason"]) == ("EXECUTION_FAILED", "output-invalid")
        assert told(surface) == [(WHY, "EXECUTION_FAILED")]
        assert token in json.dumps(data_of(await second.call_tool(TOOL, {}))), "it is no secret of this request"
    assert token not in repr(surface.audit())


@pytest.mark.requirement("11.10-no-answer-holds-its-own-token")
async def test_an_output_with_the_token_is_not_handed_out_at_the_page_protocol(site: Site) -> None:
    surface, mirror = opened(site)
    token = mirror.text = token_for(site)
    async with calling(site, token) as client, plain_socket(site, token) as socket:
        answer = await client.invoke(READ)
        await socket.send(json.dumps({"ref": "1", "verb": "invoke", "body": {"capability": READ}}))
        framed = json.loads(await socket.recv())
        mirror.text = "plain"
        assert output_of(await client.invoke(READ)) == ["before", "<plain>"]
    for each in (answer, framed["body"]):
        assert each["error"]["details"]["reason"] == "output-invalid"
        assert token not in json.dumps(each)
    assert told(surface) == [(WHY, "EXECUTION_FAILED")] * 2
    assert token not in repr(surface.audit())


@pytest.mark.requirement("11.10-no-answer-holds-its-own-token")
async def test_cookies_that_are_long_enough_to_be_secrets_count_and_short_ones_do_not(site: Site) -> None:
    surface, mirror = opened(site)
    headers = {"Authorization": f"Bearer {token_for(site)}", "Cookie": f"session={COOKIE}; theme=before"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:

        async def read() -> str:
            answer = await http.post(f"{site.address}/remit/page/invoke", json={"capability": READ})
            return answer.text

        assert "before" in await read()
        mirror.text = COOKIE
        assert COOKIE not in await read()
    assert COOKIE not in repr(surface.audit())
    assert told(surface) == [(WHY, "EXECUTION_FAILED")]


@pytest.mark.requirement("11.10-no-answer-holds-its-own-token")
async def test_what_a_caller_named_itself_with_its_token_is_not_said_back_to_it(site: Site) -> None:
    opened(site)
    token = token_for(site)
    async with calling(site, token) as client:
        answer = await client.invoke(token)
        assert token not in json.dumps(answer)
