"""`surface.from_thread()`: a surface for other threads than its own (SPEC 4.0)."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from remit import Component, DefinitionError, Ok, Surface, SurfaceFromThread, action, observation
from remit._surface import from_thread as threads_of
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns

T = TypeVar("T")


class Lamp(Component, type="lamp"):
    """A lamp."""

    def __init__(self) -> None:
        self.on = False
        self.threads: set[int] = set()
        self.gate = asyncio.Event()

    @observation
    def read(self) -> bool:
        """Read."""
        return self.on

    @action
    async def switch(self, on: bool) -> bool:
        """Switch."""
        await asyncio.sleep(0)
        self.threads.add(threading.get_ident())
        self.on = on
        return self.on

    @action
    async def hang(self) -> None:
        """Hang."""
        await self.gate.wait()

    @action(confirmation="required")
    def smash(self) -> None:
        """Smash."""


def lit() -> tuple[Surface, Lamp, SurfaceFromThread]:
    surface = Surface(authority_of(Lamp), principal="operator")
    lamp = Lamp()
    surface.mount(lamp)
    return surface, lamp, surface.from_thread()


async def elsewhere(use: Callable[[], T]) -> T:
    return await asyncio.wait_for(asyncio.to_thread(use), 20)


@pytest.mark.requirement("4.0-from-thread-serves")
async def test_a_call_from_another_thread_runs_in_the_surface_s_own_and_is_waited_for() -> None:
    _, lamp, threads = lit()
    assert output(await elsewhere(lambda: threads.call(AGENT, Lamp.switch, {"on": True}))) is True
    assert lamp.threads == {threading.get_ident()}
    assert output(await elsewhere(lambda: threads.call(AGENT, "view:lamp.read"))) is True
    failed(await elsewhere(lambda: threads.call(AGENT, "view:lamp.madeUp")), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.0-from-thread-serves")
async def test_another_thread_may_look_mount_update_unmount_and_run_anything() -> None:
    surface, _, threads = lit()

    def work() -> list[object]:
        mount = threads.mount(Lamp(), "second", enabled=False)
        seen: list[object] = [mount.status, len(threads.snapshot(AGENT).components)]
        threads.run(mount.update, enabled=True)
        seen.append(threads.call(AGENT, Lamp.read, instance="second"))
        threads.run(mount.unmount)
        threads.run(surface.set_route, "/lamps")
        return [*seen, mount.status]

    status, components, called, at_last = await elsewhere(work)
    assert (status, components, at_last) == ("mounted", 2, "unmounted")
    assert isinstance(called, Ok)
    assert surface.route == "/lamps"


@pytest.mark.requirement("4.0-from-thread-serves")
async def test_a_person_may_be_asked_and_answered_from_another_thread() -> None:
    surface, _, threads = lit()
    surface.confirmations.subscribe(lambda view: None)

    def work() -> object:
        asked = threads.call(AGENT, Lamp.smash)
        id = str(failed(asked, "CONFIRMATION_REQUIRED").details["confirmation_id"])
        threads.run(surface.confirmations.approve, id, OPERATOR)
        return threads.call(AGENT, Lamp.smash, confirmation=id)

    assert isinstance(await elsewhere(work), Ok)


@pytest.mark.requirement("4.0-from-thread-serves")
async def test_what_the_application_s_code_raises_reaches_the_thread_that_asked() -> None:
    _, _, threads = lit()
    with pytest.raises(DefinitionError, match="instance"):
        await elsewhere(lambda: threads.mount(Lamp(), "no/name"))
    with pytest.raises(ZeroDivisionError):
        await elsewhere(lambda: threads.run(lambda: 1 // 0))


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
async def test_in_the_surface_s_own_thread_every_use_raises_at_once() -> None:
    _, _, threads = lit()
    for use in (
        lambda: threads.call(AGENT, Lamp.read),
        lambda: threads.snapshot(AGENT),
        lambda: threads.mount(Lamp(), "other"),
        lambda: threads.run(turns),
    ):
        with pytest.raises(RuntimeError, match="would wait for itself"):
            use()


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
async def test_a_thread_with_a_loop_of_its_own_is_refused_and_told_what_to_do() -> None:
    _, _, threads = lit()

    async def inner() -> None:
        threads.call(AGENT, Lamp.read)

    with pytest.raises(RuntimeError, match="to_thread"):
        await elsewhere(lambda: asyncio.run(inner()))


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
def test_without_a_running_loop_nobody_waits() -> None:
    surface = Surface(authority_of(Lamp), principal="operator")
    surface.mount(Lamp())
    threads = surface.from_thread()
    assert isinstance(asyncio.run(_once(surface)), Ok)
    raised: list[BaseException] = []

    def work() -> None:
        try:
            threads.call(AGENT, Lamp.read)
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert [str(error) for error in raised] == ["the event loop of this surface does not run: nobody would answer"]


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
def test_a_loop_that_ends_while_somebody_waits_lets_go_of_them() -> None:
    raised: list[BaseException] = []
    waiting: list[threading.Thread] = []

    async def main() -> None:
        surface, _, threads = lit()
        started = asyncio.Event()
        surface.subscribe(lambda event: started.set())

        def work() -> None:
            try:
                threads.call(AGENT, Lamp.hang)
            except RuntimeError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        waiting.append(thread)
        thread.start()
        await asyncio.wait_for(started.wait(), 20)

    asyncio.run(main())
    waiting[0].join(20)
    assert not waiting[0].is_alive()
    assert [str(error) for error in raised] == ["the event loop of this surface ended before it answered"]


@pytest.mark.requirement("4.0-from-thread-serves")
async def test_a_long_call_is_waited_for_however_often_its_loop_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    _, lamp, threads = lit()
    loop, looks = asyncio.get_running_loop(), 0
    wait = concurrent.futures.wait

    def looked(futures: tuple[concurrent.futures.Future[object]], timeout: float) -> object:
        nonlocal looks
        looks += 1
        if looks == 3:  # the answer was not there twice
            loop.call_soon_threadsafe(lamp.gate.set)
        return wait(futures, timeout=timeout if looks >= 3 else 0)

    monkeypatch.setattr(concurrent.futures, "wait", looked)
    assert output(await elsewhere(lambda: threads.call(AGENT, Lamp.hang))) is None
    assert looks >= 3


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
def test_a_loop_that_stops_with_nobody_cancelled_lets_go_of_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_of, "LOOK_S", 0.01)
    loop = asyncio.new_event_loop()
    raised: list[str] = []
    waiting: list[threading.Thread] = []

    async def begin() -> Surface:
        surface, _, threads = lit()
        started = asyncio.Event()
        surface.subscribe(lambda event: started.set())

        def work() -> None:
            try:
                threads.call(AGENT, Lamp.hang)
            except RuntimeError as error:
                raised.append(str(error))

        waiting.append(threading.Thread(target=work))
        waiting[0].start()
        await asyncio.wait_for(started.wait(), 20)
        return surface

    surface = loop.run_until_complete(begin())
    waiting[0].join(20)
    assert not waiting[0].is_alive()
    assert raised == ["the event loop of this surface ended before it answered"]
    surface.dispose()
    loop.run_until_complete(turns())
    loop.close()


@pytest.mark.requirement("4.0-from-thread-after-dispose")
async def test_after_dispose_other_threads_are_answered_as_its_own_is() -> None:
    surface, _, threads = lit()
    surface.dispose()

    def work() -> list[object]:
        return [threads.call(AGENT, Lamp.read), threads.snapshot(AGENT).components, threads.mount(Lamp()).status]

    called, components, status = await elsewhere(work)
    assert called == await surface.connect(AGENT).call(Lamp.read)
    assert (components, status) == ((), "rejected")


@pytest.mark.requirement("4.0-one-thread-one-loop")
async def test_a_mount_and_its_surface_raise_at_once_in_another_thread() -> None:
    surface, _, _ = lit()
    mount = surface.mount(Lamp(), "second")
    uses: list[Callable[[], object]] = [
        lambda: mount.update(enabled=False),
        mount.invalidate,
        mount.unmount,
        lambda: surface.mounted(Lamp),
        lambda: surface.subscribe(lambda event: None),
        lambda: surface.cancel("x", AGENT),
        surface.policies_changed,
        surface.dispose,
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="thread that made it"):
            await elsewhere(use)
    assert mount.status == "mounted"
    assert len(surface.snapshot(AGENT).components) == 2


async def _once(surface: Surface) -> object:
    return await surface.connect(AGENT).call(Lamp.read)
