"""Which view a consumer works in: chosen by itself while there is one, by name else, and never by focus."""

import pytest

from remit import Authority, EventType, Limits, ManualClock, Principal, Surface
from remit._contract.manifest import assemble
from remit._session.session import Session
from remit._session.views import Ambiguous, Gone, Nothing, Views

ADA = Principal("ada")
BOB = Principal("bob")
AGENT = ("mcp", "remit", ("agent",), "dlg_1")
OTHER = ("mcp", "remit", ("agent",), "dlg_2")


class Desk:
    """Views over real, empty surfaces."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.views = Views(self.clock, Limits())
        self.authority = Authority(assemble([], [], {}, exposure={}, policies=[]))

    def open(self, name: str, principal: Principal = ADA, *, tab: str | None = None, title: str = "Devices") -> Session:
        session = Session(
            id=name,
            principal=principal.key,
            title=title,
            opened_at=self.clock.now(),
            surface=Surface(self.authority, principal=principal),
        )
        self.views.add(session)
        self.views.connect(session, tab)
        return session

    def chosen(self, consumer: tuple[str, str | None, tuple[str, ...], str | None] = AGENT) -> object:
        found = self.views.chosen(consumer, ADA.key)
        return found.id if isinstance(found, Session) else type(found)


@pytest.mark.requirement("11.12-no-view-is-open")
def test_with_no_view_there_is_nothing() -> None:
    assert Desk().chosen() is Nothing


@pytest.mark.requirement("11.12-open-means-connected")
def test_a_view_that_was_built_and_never_connected_is_not_open() -> None:
    desk = Desk()
    desk.views.disconnect(desk.open("vew_1"))
    assert desk.chosen() is Nothing
    assert desk.views.open_views(ADA.key) == ()


@pytest.mark.requirement("11.12-the-only-view-is-chosen-and-sticks")
def test_the_only_view_is_chosen_and_kept_when_others_open() -> None:
    desk = Desk()
    desk.open("vew_1")
    assert desk.chosen() == "vew_1"
    desk.open("vew_2")
    assert desk.chosen() == "vew_1"
    assert desk.chosen(OTHER) is Ambiguous


@pytest.mark.requirement("11.12-one-person-never-reaches-anothers-view")
def test_a_view_of_another_person_is_neither_chosen_nor_named() -> None:
    desk = Desk()
    desk.open("vew_bob", BOB)
    assert desk.chosen() is Nothing
    assert desk.views.choose(AGENT, ADA.key, "vew_bob") is None
    assert desk.views.told(ADA.key) == ()
    assert desk.views.chosen(AGENT, ADA.key, only="vew_bob") == Nothing()


@pytest.mark.requirement("11.12-else-to-the-only-view-left")
def test_a_choice_by_itself_moves_to_the_only_view_left_and_else_ends() -> None:
    desk = Desk()
    desk.open("vew_1")
    desk.chosen()
    desk.open("vew_2")
    desk.views.remove("vew_1")
    assert desk.chosen() == "vew_2"
    desk.open("vew_3")
    desk.open("vew_4")
    desk.views.remove("vew_2")
    assert desk.chosen() is Ambiguous


@pytest.mark.requirement("11.12-a-reload-takes-the-choice-along")
def test_a_reload_takes_the_choice_along() -> None:
    desk = Desk()
    old = desk.open("vew_1", tab="tab-1")
    desk.open("vew_2", tab="tab-2")
    desk.views.choose(AGENT, ADA.key, "vew_1")
    desk.views.disconnect(old)
    new = Session(
        id="vew_3",
        principal=ADA.key,
        title="Devices",
        opened_at=desk.clock.now(),
        surface=Surface(desk.authority, principal=ADA),
    )
    desk.views.add(new)
    assert desk.views.connect(new, "tab-1") == (old,)
    assert desk.chosen() == "vew_3"


@pytest.mark.requirement("11.12-one-person-never-reaches-anothers-view")
def test_the_tab_of_another_person_replaces_nothing() -> None:
    desk = Desk()
    desk.open("vew_1", tab="tab-1")
    other = desk.open("vew_bob", BOB)
    assert desk.views.connect(other, "tab-1") == ()
    assert desk.chosen() == "vew_1"


@pytest.mark.requirement("11.12-a-chosen-view-that-closed-is-told-once")
def test_a_view_chosen_by_name_that_closed_is_told_once() -> None:
    desk = Desk()
    desk.open("vew_1")
    desk.open("vew_2")
    desk.views.choose(AGENT, ADA.key, "vew_2")
    desk.views.remove("vew_2")
    gone = desk.views.chosen(AGENT, ADA.key)
    assert isinstance(gone, Gone)
    assert [view["view"] for view in gone.views] == ["vew_1"]
    assert desk.chosen() == "vew_1"


@pytest.mark.requirement("11.12-a-chosen-view-that-closed-is-told-once", "11.12-open-means-connected")
def test_a_view_chosen_by_name_whose_client_is_away_is_told_once_and_chosen_no_more() -> None:
    desk = Desk()
    away = desk.open("vew_1")
    desk.open("vew_2")
    desk.views.choose(AGENT, ADA.key, "vew_1")
    desk.views.disconnect(away)
    gone = desk.views.chosen(AGENT, ADA.key)
    assert isinstance(gone, Gone)
    assert [view["view"] for view in gone.views] == ["vew_2"]
    assert desk.chosen() == "vew_2"
    desk.views.connect(away, None)
    assert desk.chosen() == "vew_2"


def test_a_view_chosen_by_name_that_was_away_unnoticed_stays_chosen() -> None:
    desk = Desk()
    away = desk.open("vew_1")
    desk.open("vew_2")
    desk.views.choose(AGENT, ADA.key, "vew_1")
    desk.views.disconnect(away)
    desk.views.connect(away, None)
    assert desk.chosen() == "vew_1"


@pytest.mark.requirement("11.11-a-session-claim-confines")
def test_a_token_for_one_view_reaches_no_other() -> None:
    desk = Desk()
    one = desk.open("vew_1")
    desk.open("vew_2")
    assert desk.views.chosen(AGENT, ADA.key, only="vew_1") is one
    desk.views.remove("vew_1")
    assert desk.views.chosen(AGENT, ADA.key, only="vew_1") == Nothing()


def test_looking_chooses_nothing() -> None:
    desk = Desk()
    one = desk.open("vew_1")
    assert desk.views.looks_at(AGENT, ADA.key) is one
    desk.open("vew_2")
    assert desk.views.looks_at(AGENT, ADA.key) is None
    assert desk.chosen() is Ambiguous


@pytest.mark.requirement("11.12-titles-are-unique")
def test_equal_titles_are_told_apart() -> None:
    desk = Desk()
    for name, title in [("vew_1", "Devices"), ("vew_2", "Reports"), ("vew_3", "Devices")]:
        desk.open(name, title=title)
    assert [view["title"] for view in desk.views.told(ADA.key)] == ["Devices", "Reports", "Devices (2)"]


@pytest.mark.requirement("11.12-titles-are-unique")
@pytest.mark.parametrize(
    ("titles", "told"),
    [
        (["A", "A (2)", "A"], ["A", "A (2)", "A (3)"]),
        (["A", "A", "A (2)"], ["A", "A (3)", "A (2)"]),
        (["A (2)", "A (2)", "A", "A"], ["A (2)", "A (2) (2)", "A", "A (3)"]),
        (["A", "A", "A"], ["A", "A (2)", "A (3)"]),
    ],
)
def test_a_title_that_reads_like_a_numbered_one_is_told_apart_too(titles: list[str], told: list[str]) -> None:
    desk = Desk()
    for number, title in enumerate(titles):
        desk.open(f"vew_{number}", title=title)
    assert [view["title"] for view in desk.views.told(ADA.key)] == told


@pytest.mark.requirement("12.5-notices-to-whom-they-concern")
def test_a_principal_is_told_of_its_own_views_only() -> None:
    desk, heard = Desk(), list[str]()
    end = desk.views.on_change(ADA.key, lambda: heard.append("ada"))
    session = desk.open("vew_1")
    desk.open("vew_bob", BOB)
    desk.views.disconnect(session)
    desk.views.disconnect(session)
    assert heard == ["ada", "ada"]
    desk.views.connect(session, None)
    desk.views.remove("vew_1")
    assert desk.views.remove("vew_1") is None
    assert len(heard) == 4
    end()
    end()
    desk.open("vew_2")
    assert len(heard) == 4


@pytest.mark.requirement("11.12-a-view-is-told-with-its-present-route")
def test_a_view_is_told_with_the_route_it_has_now() -> None:
    session = Desk().open("vew_1")
    session.surface.set_route("/devices")
    assert session.to_json("Devices")["route"] == "/devices"
    session.surface.set_route("/reports")
    assert session.to_json("Devices")["route"] == "/reports"


@pytest.mark.requirement("9.1-sessions-open-and-close")
def test_listeners_of_a_surface_hear_its_session_open_once_and_close_once() -> None:
    desk = Desk()
    heard: list[tuple[EventType, object]] = []
    types = {EventType.SESSION_OPENED, EventType.SESSION_CLOSED}
    session = Session(
        id="vew_1",
        principal=ADA.key,
        title="Devices",
        opened_at=desk.clock.now(),
        surface=Surface(desk.authority, principal=ADA),
    )
    session.surface.subscribe(lambda event: heard.append((event.type, dict(event.data))), types=types)
    desk.views.add(session)
    assert heard == [], "building a page opens nothing"
    desk.views.connect(session, None)
    desk.views.disconnect(session)
    desk.views.connect(session, None)
    named = {"view": "vew_1", "title": "Devices"}
    assert heard == [(EventType.SESSION_OPENED, named)]
    desk.views.disconnect(session)
    desk.views.remove("vew_1")
    desk.views.remove("vew_1")
    assert heard == [(EventType.SESSION_OPENED, named), (EventType.SESSION_CLOSED, named)]
    built = Session(
        id="vew_3",
        principal=ADA.key,
        title="Devices",
        opened_at=desk.clock.now(),
        surface=session.surface,
    )
    desk.views.add(built)
    desk.views.remove("vew_3")
    assert len(heard) == 2, "one that no client came to was never open"
