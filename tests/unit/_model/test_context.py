"""What a handler is told about its call: the signal to stop, and where progress goes (SPEC 6.10)."""

import asyncio

from remit._model.consumer import Consumer, Principal
from remit._model.context import Context, LazySignal
from remit._model.progress import Reporter


def context(reporter: Reporter | None) -> Context:
    return Context(
        capability="view:a.b.c",
        registration="reg_1",
        invocation="inv_1",
        consumer=Consumer("bot", kind="test"),
        principal=Principal("ada"),
        host=None,
        cancelled=LazySignal(),
        evidence=None,
        idempotency_key="key",
        reporter=reporter,
    )


async def test_everybody_who_waits_is_told_to_stop_and_so_is_who_comes_later() -> None:
    signal = LazySignal()
    first, second = asyncio.create_task(signal.wait()), asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    assert not first.done()
    assert not signal.is_set()
    signal.set()
    signal.set()
    assert list(await asyncio.gather(first, second, signal.wait())) == [True, True, True]
    assert signal.is_set()


def test_progress_goes_to_whoever_asked_and_else_nowhere() -> None:
    told: list[tuple[float, float | None, str | None]] = []
    context(lambda done, total, text: told.append((done, total, text))).progress(1, 2, "half")
    context(None).progress(1, 2, "half")
    assert told == [(1, 2, "half")]
