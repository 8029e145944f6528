"""What one consumer reaches of the open views, and what a door keeps of it while its token lives (SPEC 11.12)."""

from datetime import timedelta

import pytest
from starlette.requests import HTTPConnection

from remit import Consumer, Limits, ManualClock
from remit._session.identity import Identity, decision_link, secrets_of, unauthorized
from remit._session.reach import Callers, Reach, no_such_view, unreachable
from remit._session.session import Session
from remit._session.views import Nothing
from tests.unit._session.test_views import ADA, BOB, Desk


def identity_of(actor: str = "agent", *, session: str | None = None, expires_at: float = 0.0) -> Identity:
    consumer = Consumer(actor, kind="mcp", scope=["view:**"])
    return Identity(principal=ADA.key, consumer=consumer, session=session, expires_at=expires_at)


class Heard:
    """Which views somebody listens to, and how often the open ones changed."""

    def __init__(self) -> None:
        self.views: list[str] = []
        self.changes = 0

    def changed(self) -> None:
        self.changes += 1

    def hear(self, session: Session):  # type: ignore[no-untyped-def]
        self.views.append(session.id)
        return lambda: self.views.remove(session.id)


@pytest.mark.requirement("11.12-no-view-is-open")
def test_a_token_for_one_view_reaches_that_view_alone() -> None:
    desk = Desk()
    desk.open("vew_1")
    desk.open("vew_2")
    desk.open("vew_3", BOB)
    bound, free = Reach(identity_of(session="vew_2"), desk.views), Reach(identity_of("other"), desk.views)
    assert [each.id for each in bound.opened()] == ["vew_2"]
    assert [each.id for each in free.opened()] == ["vew_1", "vew_2"]
    assert (bound.may_choose(), free.may_choose()) == (False, True)
    assert bound.choose("vew_1") is None and free.choose("vew_3") is None
    chosen = free.choose("vew_1")
    assert chosen is not None and chosen.id == "vew_1"
    assert [row["in_use"] for row in free.told()] == [True, False]
    assert [(row["view"], row["in_use"]) for row in bound.told()] == [("vew_2", True)]


def test_who_follows_hears_each_view_once_as_long_as_it_is_open() -> None:
    desk, heard = Desk(), Heard()
    first = desk.open("vew_1")
    end = Reach(identity_of(), desk.views).follow(heard.changed, heard.hear)
    assert heard.views == ["vew_1"]
    desk.open("vew_2")
    desk.open("vew_3", BOB)
    assert heard.views == ["vew_1", "vew_2"]
    desk.views.disconnect(first)
    assert heard.views == ["vew_2"]
    before = heard.changes
    end()
    assert heard.views == []
    desk.open("vew_4")
    assert (heard.views, heard.changes) == ([], before)


class Kept:
    """What a door keeps: here, who it is and whether it was closed."""

    def __init__(self, identity: Identity) -> None:
        self.consumer = identity.consumer
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_caller_is_kept_until_its_token_ends_and_closed_then() -> None:
    clock = ManualClock()
    callers = Callers(Kept, clock, Limits())
    ends = (clock.now() + timedelta(seconds=60)).timestamp()
    kept = callers.of(identity_of(expires_at=ends))
    assert callers.of(identity_of(expires_at=ends)) is kept
    clock.advance(60)
    assert kept.closed == 1
    assert callers.of(identity_of(expires_at=ends + 60)) is not kept


def test_the_longest_known_caller_makes_room_and_its_end_is_told_once() -> None:
    clock = ManualClock()
    callers = Callers(Kept, clock, Limits(sessions=2))
    ends = (clock.now() + timedelta(seconds=60)).timestamp()
    first, second, third = (callers.of(identity_of(name, expires_at=ends)) for name in ("a", "b", "c"))
    assert [each.closed for each in (first, second, third)] == [1, 0, 0]
    callers.cut_off(lambda consumer: consumer.id == "b")
    assert [each.closed for each in (first, second, third)] == [1, 1, 0]
    clock.advance(60)  # the ends that were planned for the two find nobody
    assert [each.closed for each in (first, second, third)] == [1, 1, 1]
    last = callers.of(identity_of("d", expires_at=ends + 60))
    callers.close()
    assert last.closed == 1


def test_why_there_is_no_view_is_told_in_one_shape() -> None:
    assert unreachable(Nothing()).code == "SURFACE_UNREACHABLE"
    assert no_such_view().code == "SURFACE_UNREACHABLE"


def test_secrets_are_the_token_and_cookies_long_enough_to_be_some() -> None:
    headers = [(b"cookie", b"a=short; b=" + b"x" * 40), (b"host", b"localhost:8000")]
    scope = {"type": "http", "headers": headers, "path": "/base/remit/mcp", "scheme": "http", "query_string": b""}
    connection = HTTPConnection({**scope, "server": ("localhost", 8000)})
    assert secrets_of(connection, "token") == ("token", "x" * 40)
    link = decision_link(connection, own="/remit/mcp", pages="/remit/approve", confirmation_id="cnf_1")
    assert link == "http://localhost:8000/base/remit/approve/cnf_1"
    assert unauthorized().status_code == 401
