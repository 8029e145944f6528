"""The trace that a client's request belongs to, over real HTTP: MCP in both eras, and the page protocol (SPEC 6.14)."""

from typing import Any, cast

import mcp_types as types
import pytest

from remit import AuditEntry, Surface
from tests.adapters.page_client import calling
from tests.adapters.site import ERAS, SELECT, data_of, serving

ONE = "00-11111111111111111111111111111111-1111111111111111-01"
TWO = "00-22222222222222222222222222222222-2222222222222222-00"


def meta(**values: object) -> types.RequestParamsMeta:
    return cast(types.RequestParamsMeta, values)


def last(surface: Surface) -> AuditEntry:
    return surface.audit(types=["invocation"])[-1]


@pytest.mark.requirement("6.14-traceparent-from-outside-is-a-link")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("trusted", [False, True])
async def test_meta_comes_before_the_header_and_is_a_link_unless_the_site_trusts_it(mode: str, trusted: bool) -> None:
    async with serving(trust_traceparent=trusted) as site:
        surface, _ = site.open_table()
        more: dict[str, Any] = {"traceparent": TWO, "tracestate": "vendor=1", "baggage": "user=ada"}
        async with site.client(mode, **more) as client:
            await client.list_tools()
            for sent, traceparent in ((meta(traceparent=ONE, baggage="user=ada"), ONE), (None, TWO)):
                data_of(await client.call_tool(SELECT, {"ids": []}, meta=sent))
                assert (last(surface).traceparent, last(surface).linked) == (traceparent, not trusted)
        assert "vendor=1" not in repr(surface.audit()) and "user=ada" not in repr(surface.audit())


@pytest.mark.requirement("6.14-a-malformed-traceparent-fails-nothing")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_malformed_one_is_as_if_none_had_been_sent(mode: str) -> None:
    async with serving() as site:
        surface, _ = site.open_table()
        async with site.client(mode, traceparent="00-zz") as client:
            await client.list_tools()
            for sent in (None, meta(traceparent="nonsense"), meta(traceparent=7)):
                data_of(await client.call_tool(SELECT, {"ids": []}, meta=sent))
                assert (last(surface).traceparent, last(surface).linked) == (None, False)


@pytest.mark.requirement("6.14-traceparent-from-outside-is-a-link")
@pytest.mark.requirement("6.14-a-malformed-traceparent-fails-nothing")
@pytest.mark.parametrize("trusted", [False, True])
async def test_the_page_protocol_reads_the_header_alike(trusted: bool) -> None:
    async with serving(trust_traceparent=trusted) as site:
        surface, _ = site.open_table()
        async with calling(site) as client:
            for sent, traceparent in ((TWO, TWO), ("00-zz", None)):
                client.http.headers["traceparent"] = sent
                assert (await client.act("view:devices.table.selectRows", {"ids": []}))["ok"]
                assert (last(surface).traceparent, last(surface).linked) == (traceparent, not trusted and sent == TWO)
