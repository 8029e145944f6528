"""A server that answers each HTTP request with one small JSON body; `python -m bench.echo` serves and says its port."""

import asyncio
import sys
from typing import Final

_BODY: Final = b'{"disabled":["d-0001","d-0002","d-0003"],"ok":true}'
_ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(_BODY),
    _BODY,
)


class _Echo(asyncio.Protocol):
    """Answers once a request is whole; nothing is read of it but its length."""

    def __init__(self) -> None:
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._got[:end]).lower()
            at = head.find(b"content-length:")
            length = 0 if at < 0 else int(head[at + 15 :].split(b"\r\n", 1)[0])
            if len(self._got) < end + 4 + length:
                return
            del self._got[: end + 4 + length]
            self._transport.write(_ANSWER)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Echo, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # it ends with whoever started it
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
