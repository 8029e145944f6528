from collections.abc import Callable

import pytest

from remit._model.consumer import Consumer
from remit._registry.suspended import Suspended
from remit.store import memory
from remit.store.memory import MemorySuspensions


def test_it_says_whether_anything_changed_and_whether_there_is_any() -> None:
    off, key = Suspended(MemorySuspensions()), Consumer("a", kind="test").key
    changed: list[bool] = []
    some: list[bool] = []
    steps: list[Callable[[], bool]] = [
        lambda: off.set(key, False),
        lambda: off.set(key, True),
        lambda: off.set(key, True),
        lambda: off.set("view:a.b", True),
        lambda: off.set(key, False),
        lambda: off.set("view:a.b", False),
        lambda: off.set("view:a.b", False),
    ]
    for suspend in steps:
        changed.append(suspend())
        some.append(off.any)
    assert changed == [False, True, False, True, True, True, False]
    assert some == [False, True, True, True, True, False, False]


def test_one_too_many_is_refused_and_no_earlier_one_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SUSPENDED", 2)
    off = Suspended(MemorySuspensions())
    keys = [Consumer(name, kind="test").key for name in ("a", "b", "c")]
    off.set(keys[0], True)
    off.set(keys[1], True)
    with pytest.raises(OverflowError, match="2 suspensions are held"):
        off.set(keys[2], True)
    assert not off.set(keys[1], True), "one that is suspended already is no further one"
    assert [off.has_consumer(key) for key in keys] == [True, True, False]
    off.set(keys[0], False)
    assert off.set(keys[2], True)


def test_a_consumer_and_a_capability_of_one_name_are_two() -> None:
    off = Suspended(MemorySuspensions())
    consumer = Consumer("view:a.b", kind="test").key
    off.set("view:a.b", True)
    assert (off.has_capability("view:a.b"), off.has_consumer(consumer)) == (True, False)


def test_a_listener_that_is_gone_is_forgotten_by_the_store() -> None:
    class Surface:
        heard = 0

        def hear(self) -> None:
            Surface.heard += 1

    held = MemorySuspensions()
    off, surface = Suspended(held), Surface()
    end = off.subscribe(surface.hear)
    off.set("view:a.b", True)
    assert (Surface.heard, off.moved) == (1, True)
    del surface
    off.set("view:a.b", False)
    assert Surface.heard == 1
    end()
    off.moved = False
    off.set("view:a.b", True)
    assert not off.moved
