"""Who is there: what an id, a tenant and `confirm` may be (SPEC 5.1, 5.8)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from remit._model.consumer import Consumer, Decider, Principal
from remit._model.effects import Effect

NAMED: list[Callable[[Any], object]] = [
    Principal,
    lambda text: Principal("p", tenant=text),
    Decider,
    lambda text: Decider("d", tenant=text),
    lambda text: Consumer(text, kind="test"),
    lambda text: Consumer("c", kind="test", issuer=text),
    lambda text: Consumer("c", kind="test", actors=(text,)),
    lambda text: Consumer("c", kind="test", grant=text),
]


@pytest.mark.requirement("5.8-ids-and-tenants-are-plain-text")
@pytest.mark.parametrize("make", NAMED)
@pytest.mark.parametrize("text", ["x\n", "\x00", "a\ud800", "\x7f", "\x9b31m"])
def test_an_id_or_tenant_with_a_control_character_or_lone_surrogate_is_refused(
    make: Callable[[Any], object], text: str
) -> None:
    with pytest.raises(ValueError, match=r"holds U\+[0-9A-F]{4}: no control character, no lone surrogate"):
        make(text)


@pytest.mark.requirement("5.8-ids-and-tenants-are-plain-text")
@pytest.mark.parametrize("make", NAMED)
@pytest.mark.parametrize("given", [5, b"x", ("x",)])
def test_an_id_or_tenant_that_is_no_text_is_refused(make: Callable[[Any], object], given: object) -> None:
    with pytest.raises(TypeError, match="text"):
        make(given)


@pytest.mark.requirement("5.8-ids-and-tenants-are-plain-text")
@pytest.mark.parametrize("make", NAMED)
def test_any_other_text_is_somebodys_name(make: Callable[[Any], object]) -> None:
    for text in ("Zoë Müller", "می\u200cخواهم", "auth0|5f7c", "a@b.example"):
        make(text)


@pytest.mark.parametrize("make", [NAMED[0], NAMED[2], NAMED[4]])
def test_nobody_is_called_nothing(make: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="non-empty id"):
        make("")


@pytest.mark.requirement("5.1-confirm-names-something")
@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("local_state", "'local_state' is no effect; did you mean 'local-state'"),
        ("Destructive", "did you mean 'destructive'"),
        ("mutation", "did you mean 'server-mutation'"),
        ("", "is no effect"),
        ("**", "is no effect"),
        ("views:park.open", "a pattern starts with `view:` or `domain:`"),
        ("domain:**.x", "`\\*\\*` may only be the last segment"),
    ],
)
def test_an_entry_of_confirm_that_names_nothing_is_refused(entry: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Consumer("c", kind="test", confirm=("destructive", entry))


@pytest.mark.requirement("5.1-confirm-names-something")
def test_confirm_takes_effects_and_patterns_only() -> None:
    entries = [*Effect, "view:park.**", "domain:devices.disable"]
    assert set(Consumer("c", kind="test", confirm=entries).confirm) == set(entries)
    wrong: Any = [5]
    with pytest.raises(TypeError, match="is text, not int"):
        Consumer("c", kind="test", confirm=wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Consumer("c", kind="test", grants="fleet"),
        lambda: Consumer("c", kind="test", confirm="destructive"),
        lambda: Decider("d", "fleet"),
    ],
)
def test_one_text_is_no_collection_of_names(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="is a collection of names, not one text"):
        make()


def test_what_a_consumer_may_do_has_an_end_with_a_time_zone() -> None:
    until = datetime(2026, 1, 1, tzinfo=UTC)
    assert Consumer("bot", kind="test", until=until).until == until
    assert Consumer("bot", kind="test").until is None
    with pytest.raises(ValueError, match="no time zone"):
        Consumer("bot", kind="test", until=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(TypeError, match="is a datetime, not str"):
        Consumer("bot", kind="test", until="2026-01-01")  # type: ignore[arg-type]
