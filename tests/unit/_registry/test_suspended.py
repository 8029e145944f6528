from collections.abc import Callable

import pytest

from remit._model.consumer import Consumer
from remit._registry import suspended
from remit._registry.suspended import Suspended


def test_it_says_whether_anything_changed_and_whether_there_is_any() -> None:
    off, key = Suspended(), Consumer("a", kind="test").key
    changed: list[bool] = []
    some: list[bool] = []
    steps: list[Callable[[], bool]] = [
        lambda: off.set_consumer(key, False),
        lambda: off.set_consumer(key, True),
        lambda: off.set_consumer(key, True),
        lambda: off.set_capability("view:a.b", True),
        lambda: off.set_consumer(key, False),
        lambda: off.set_capability("view:a.b", False),
        lambda: off.set_capability("view:a.b", False),
    ]
    for suspend in steps:
        changed.append(suspend())
        some.append(off.any)
    assert changed == [False, True, False, True, True, True, False]
    assert some == [False, True, True, True, True, False, False]


def test_a_consumer_too_many_is_refused_and_no_earlier_one_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspended, "MOST_CONSUMERS", 2)
    off = Suspended()
    keys = [Consumer(name, kind="test").key for name in ("a", "b", "c")]
    off.set_consumer(keys[0], True)
    off.set_consumer(keys[1], True)
    with pytest.raises(OverflowError, match="2 consumers are suspended"):
        off.set_consumer(keys[2], True)
    assert not off.set_consumer(keys[1], True), "one that is suspended already is no further one"
    assert [off.has_consumer(key) for key in keys] == [True, True, False]
    off.set_consumer(keys[0], False)
    assert off.set_consumer(keys[2], True)
