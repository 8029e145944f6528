"""The console's process as `console_process` starts it: `python -m demo.served`, in the example's folder."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from demo.console_process import ACTOR, Console
from demo.serving import Served, serve


async def main() -> None:
    """Serve on a free port, say so on standard output, and end with standard input."""
    over = asyncio.Event()
    life_line = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(life_line), sys.stdin)

    async def wait_for_the_end() -> None:
        await life_line.read()
        over.set()

    waiting = asyncio.create_task(wait_for_the_end())
    with tempfile.TemporaryDirectory() as folder:
        await serve(Path(folder), 0, lambda served: print(_console(served).to_line(), flush=True), over)
    waiting.cancel()


def _console(served: Served) -> Console:
    people = served.handles.people
    return Console(
        url=served.url,
        door=served.door,
        database=str(served.handles.database),
        passwords={person.name: person.password for person in people},
        tokens={person.name: served.token(person.name, ACTOR) for person in people},
    )


if __name__ == "__main__":
    asyncio.run(main())
