"""Delivery to listeners: whoever comes later hears nothing of before."""

from remit._journal.listeners import Listeners


def test_what_nobody_listens_to_is_not_kept_for_whoever_comes_later() -> None:
    faults: list[BaseException] = []
    listeners: Listeners[str] = Listeners(faults.append, backlog=4)
    listeners.send("before")
    heard: list[str] = []
    listeners.add(heard.append)
    listeners.send("after")
    assert (heard, faults) == (["after"], [])
