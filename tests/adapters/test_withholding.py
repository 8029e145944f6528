"""An answer that holds the token or a cookie of its own request is not handed out (SPEC 11.10)."""

import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from remit import Component, Context, Surface, action, observation
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


class Board(Component, type="more.board"):
    """A board with a note beside it."""

    def __init__(self) -> None:
        self.text = ""

    @action
    def pin(self, context: Context) -> int:
        """Pin something to the board."""
        context.progress(1, 2, self.text)
        return 1

    @pin.note
    def _(self) -> str | None:
        return self.text or None


PIN = "view_more__board__pin"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(more=(Mirror, Board)) as running:
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


@pytest.mark.requirement("11.10-no-listing-holds-its-own-token")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_tool_whose_note_holds_a_cookie_of_the_request_is_left_out_of_that_listing(
    site: Site, mode: str
) -> None:
    surface, _ = opened(site)
    board = Board()
    surface.mount(board)
    async with site.client(mode, Cookie=f"session={COOKIE}") as client, site.client(mode) as second:
        assert PIN in {tool.name for tool in (await client.list_tools()).tools}
        board.text = f"<{COOKIE}>"
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert TOOL in names and PIN not in names
        assert PIN in {tool.name for tool in (await second.list_tools()).tools}, "it is no secret of this request"
    assert set(told(surface)) == {(WHY, "EXECUTION_FAILED")}
    assert COOKIE not in repr(surface.audit())


@pytest.mark.requirement("11.10-no-listing-holds-its-own-token")
@pytest.mark.parametrize("mode", ERAS)
async def test_progress_with_a_cookie_of_the_request_goes_out_without_its_text(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    board = Board()
    surface.mount(board)
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with site.client(mode, Cookie=f"session={COOKIE}") as client:
        await client.list_tools()
        board.text = f"<{COOKIE}>"
        assert data_of(await client.call_tool(PIN, {}, progress_callback=hear)) == 1
        board.text = "half of it"
        assert data_of(await client.call_tool(PIN, {}, progress_callback=hear)) == 1
    assert [(done, total) for done, total, _ in heard] == [(1, 2), (1, 2)]
    assert heard[0][2] is None
    assert json.loads(str(heard[1][2])) == {"source": PIN, "data": "half of it"}


@pytest.mark.requirement("11.10-no-listing-holds-its-own-token")
async def test_titles_of_views_with_a_cookie_of_the_request_are_told_to_nobody_who_sent_it(site: Site) -> None:
    site.open(title=COOKIE)
    site.open()
    async with site.client("auto", Cookie=f"session={COOKIE}") as client, site.client("auto") as second:
        assert error_of(await client.call_tool("surface_views"))["details"]["reason"] == "output-invalid"
        views = await second.call_tool("surface_views")
        assert COOKIE in json.dumps(views.structured_content)


@pytest.mark.requirement("11.10-no-listing-holds-its-own-token")
async def test_in_place_of_an_event_with_a_cookie_of_the_request_the_stream_says_lost_and_ends(site: Site) -> None:
    headers = {"Authorization": f"Bearer {token_for(site)}", "Cookie": f"session={COOKIE}"}
    site.open()
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:
        async with http.stream("GET", f"{site.address}/remit/page/events") as response:
            lines = response.aiter_lines()
            assert await anext(lines) == "event: listening"
            view = site.open(title=COOKIE)
            rest = [line async for line in lines]
        assert "event: lost" in rest
        assert COOKIE not in "".join(rest)
        async with http.stream("GET", f"{site.address}/remit/page/events") as response:
            again = [line async for line in response.aiter_lines()]
        assert again[0] == "event: lost" and COOKIE not in "".join(again)
        site.gateway.close_view(view.id)
        async with http.stream("GET", f"{site.address}/remit/page/events") as response:
            assert await anext(response.aiter_lines()) == "event: listening"
