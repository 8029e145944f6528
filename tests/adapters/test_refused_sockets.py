"""A socket that is refused before it opens is no error of the application, at any door (SPEC 15.4, 14.1)."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.adapters import bridge_site
from tests.adapters.asgi_site import serving
from tests.adapters.site import PATIENCE_S


class Told(logging.Handler):
    """Keeps what the server logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append(record.getMessage())


@contextmanager
def listening() -> Iterator[list[str]]:
    """What uvicorn logs as an error in the block."""
    told, log = Told(), logging.getLogger("uvicorn.error")
    log.addHandler(told)
    try:
        yield told.lines
    finally:
        log.removeHandler(told)


async def refusal(address: str, path: str, headers: Mapping[str, str]) -> int:
    """The status that an upgrade is refused with."""
    port = int(address.rpartition(":")[2])
    host = headers.get("Host", f"127.0.0.1:{port}")
    rest = {name: value for name, value in headers.items() if name != "Host"}
    with pytest.raises(InvalidStatus) as refused:
        await connect(
            f"ws://{host}{path}", host="127.0.0.1", port=port, additional_headers=rest, open_timeout=PATIENCE_S
        )
    return refused.value.response.status_code


@pytest.mark.requirement("15.4-a-refused-socket-is-no-error")
async def test_a_socket_refused_by_the_guard_a_page_or_a_door_is_logged_as_no_error() -> None:
    with listening() as errors:
        async with serving() as site:
            for path in ("/remit/view", "/remit/page/socket", "/elsewhere"):
                assert await refusal(site.address, path, {"Host": "evil.example"}) == 421
                assert await refusal(site.address, path, {"Origin": "https://evil.example"}) == 403
            own = {"Origin": site.address}
            assert await refusal(site.address, "/remit/view", own) == 403, "nobody is signed in"
            assert await refusal(site.address, "/remit/view", {"Cookie": "account=a"}) == 403, "no page"
            assert await refusal(site.address, "/remit/page/socket", own) == 401
    assert errors == []


@pytest.mark.requirement("15.4-a-refused-socket-is-no-error")
async def test_a_socket_refused_by_the_bridge_is_logged_as_no_error() -> None:
    with listening() as errors:
        async with bridge_site.serving() as site:
            assert await refusal(site.address, "/remit/browser/socket", {}) == 403
            assert await refusal(site.address, "/remit/browser/socket", {"Origin": site.address}) == 401
    assert errors == []
