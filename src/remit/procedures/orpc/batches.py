"""Reads that one session makes at the same time as one request, where the backend offers that (SPEC 10.7)."""

import asyncio
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

import httpx2
import orjson

from remit._base.boundary import Json, NotJson, TooLarge
from remit.procedures.errors import NoAnswer
from remit.procedures.http.address import Address
from remit.procedures.http.sending import Headers, Outgoing, Received
from remit.procedures.http.way import Way
from remit.procedures.openapi.answers import parsed
from remit.procedures.openapi.document import Node
from remit.procedures.orpc.contract import Dialect

PATH: Final = "/__batch__"
"""Where a batch goes: under the prefix of the handler, which looks at its headers only."""

_MULTI_STATUS: Final = 207
_BAD_GATEWAY: Final = 502
_TURNS: Final = 2
_Key: TypeAlias = tuple[asyncio.AbstractEventLoop, Address, tuple[tuple[bytes, bytes], ...]]


class _Group:
    """Requests that go out together: nobody joins once they are on their way."""

    def __init__(self) -> None:
        self.requests: list[Outgoing] = []
        self.waiting = 0
        self.task: asyncio.Task[list[Received | None]] | None = None


class Batches:
    """Joins requests of equal heads that come in the same turn of the loop; one alone goes out by itself.

    Equal heads are equal credentials, so no call is ever part of another session's request. A backend that does not
    answer as one with batches does is asked one by one from then on: what is joined only reads.
    """

    def __init__(self, way: Way, *, at_most: int, dialect: Dialect) -> None:
        self._way = way
        self._at_most = at_most
        self._numbered = dialect == "1.x"
        self._open: dict[_Key, _Group] = {}
        self._offered = True

    async def send(self, address: Address, outgoing: Outgoing, headers: Headers) -> Received:
        """Send one request, alone or with others, and give its own answer; BackendError as of `Way.send`."""
        if not self._offered:
            return await self._way.send(address, outgoing, headers, follow=False, again=True)
        key = (asyncio.get_running_loop(), address, tuple(headers))
        group = self._open.get(key)
        if group is None:
            group = self._open[key] = _Group()
            group.task = asyncio.create_task(self._together(key, group))
        assert group.task is not None
        number = len(group.requests)
        group.requests.append(outgoing)
        if len(group.requests) == self._at_most:
            del self._open[key]
        group.waiting += 1
        message: object = None
        try:
            answer = (await asyncio.shield(group.task))[number]
        except asyncio.CancelledError as gone:
            message = next(iter(gone.args), None)
            raise
        finally:
            group.waiting -= 1
            if not group.waiting:
                group.task.cancel(message)
                self._close(key, group)
        if answer is None:
            raise NoAnswer(_BAD_GATEWAY, "the answer of the batch left this call out")
        return answer

    async def _together(self, key: _Key, group: _Group) -> list[Received | None]:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._close(key, group)
        _, address, heads = key
        if len(group.requests) > 1:
            batch = self._batch(address, group.requests)
            sent = [*heads, (b"x-orpc-batch" if self._numbered else b"orpc-batch", b"buffered")]
            try:
                received = await self._way.send(address, batch, sent, follow=False, again=True)
            except TooLarge:
                pass  # together they are too much
            else:
                if received.status == _MULTI_STATUS:
                    return self._taken_apart(received, len(group.requests))
                self._offered = False
        return [await self._way.send(address, each, [*heads], follow=False, again=True) for each in group.requests]

    def _close(self, key: _Key, group: _Group) -> None:
        if self._open.get(key) is group:
            del self._open[key]

    def _batch(self, address: Address, requests: list[Outgoing]) -> Outgoing:
        # 1.x takes whole addresses only, of any origin; 2.0-beta paths only.
        front = str(address.origin) if self._numbered else ""
        urls = [front + each.target.decode() for each in requests]
        items = [self._item(number, urls[number], each) for number, each in enumerate(requests)]
        return Outgoing(
            method="POST",
            target=f"{address.path}{PATH}".encode(),
            headers=((b"content-type", b"application/json"),),
            content=b"[" + b",".join(items) + b"]",
        )

    def _item(self, number: int, url: str, request: Outgoing) -> bytes:
        at, body = orjson.dumps(url), request.content or b"{}"
        if self._numbered:
            return b'{"body":' + body + b',"url":' + at + b"}"
        message = b'{"body":' + body + b',"bodyHint":"json","headers":{},"method":"POST","url":' + at + b"}"
        return b'{"id":"' + str(number).encode() + b'","json":' + message + b',"kind":"request"}'

    def _taken_apart(self, received: Received, count: int) -> list[Received | None]:
        items = parsed(received.body)
        if not isinstance(items, list):
            raise NotJson("the answer of a batch is no list")
        found: list[Received | None] = [None] * count
        for item in items:
            number, answer = self._numbered_answer(item)
            if 0 <= number < count:
                found[number] = _received(answer)
        return found

    def _numbered_answer(self, item: Json) -> tuple[int, Node]:
        node = item if isinstance(item, dict) else {}
        if self._numbered:
            index = node.get("index")
            return (index if isinstance(index, int) else -1), node
        id, answer = node.get("id"), node.get("json")
        known = isinstance(id, str) and id.isascii() and id.isdecimal() and node.get("kind") == "response"
        return (int(cast(str, id)[:6]) if known else -1), (answer if isinstance(answer, dict) else {})


def _received(answer: Mapping[str, Json]) -> Received:
    status, headers = answer.get("status", _MULTI_STATUS), answer.get("headers")
    said = headers if isinstance(headers, dict) else {}
    heads = {name: value for name, value in said.items() if isinstance(value, str)}
    body = b"" if "body" not in answer else orjson.dumps(answer["body"])
    return Received(
        status=status if isinstance(status, int) else _BAD_GATEWAY,
        headers=httpx2.Headers({"content-type": "application/json", **heads}),
        body=body,
    )
