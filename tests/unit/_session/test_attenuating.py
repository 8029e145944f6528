"""A narrowed token reaches no further and lives no longer than the token it came from, and ends with it."""

import math
from typing import Any

import jwt
import pytest

from remit import Limits, ManualClock, Principal
from remit._session.delegation import Delegations, Keys

PERSON = Principal("ada", tenant="acme")
PAGE = ["view:devices.**", "domain:devices.disable", "region:devices.page/**"]
WHY = {"by": "admin", "why": "it is over"}
SECRET = b"s" * 32


def issuer(clock: ManualClock | None = None) -> Delegations:
    return Delegations(Keys("k", {"k": SECRET}), clock or ManualClock(), Limits())


def minted(of: Delegations, **more: Any) -> str:
    return of.mint(PERSON, **{"actor": "agent", "scope": PAGE, **more})


@pytest.mark.requirement("11.11-a-chain-only-narrows")
def test_a_narrowed_token_is_for_the_same_person_with_the_actor_appended() -> None:
    of = issuer()
    parent = minted(of, kind="page")
    child = of.attenuate(parent, actor="helper", scope=["view:devices.table.*"])
    grandchild = of.attenuate(child, actor="clerk", scope=["view:devices.table.read"], session="vew_1")
    first, second, third = (of._read(token) for token in (parent, child, grandchild))
    assert first is not None and second is not None and third is not None
    assert (third.principal, third.kind, third.session) == (("acme", "ada"), first.kind, "vew_1")
    assert third.actors == ("agent", "helper", "clerk")
    assert third.consumer.id == "clerk"
    assert third.consumer.key[2] == ("agent", "helper", "clerk")
    assert third.consumer.lineage == (first.jti, second.jti, third.jti)
    said = jwt.decode(grandchild, options={"verify_signature": False})
    assert said["act"] == {"sub": "clerk", "act": {"sub": "helper", "act": {"sub": "agent"}}}


@pytest.mark.requirement("11.11-a-chain-only-narrows")
def test_it_lives_as_long_as_asked_and_never_longer_than_its_parent() -> None:
    clock = ManualClock()
    of = issuer(clock)
    parent = minted(of, ttl=1_000)
    clock.advance(900)
    children = [of.attenuate(parent, actor="helper", scope=["view:devices.**"], ttl=ttl) for ttl in (50, 100, None)]
    assert [_left(of, token, clock) for token in children] == [50, 100, 100]
    longer = of.attenuate(minted(of, ttl=5_000), actor="helper", scope=PAGE)
    assert _left(of, longer, clock) == 900


def _left(of: Delegations, token: str, clock: ManualClock) -> float:
    found = of._read(token)
    assert found is not None
    return found.expires_at - math.floor(clock.now().timestamp())


@pytest.mark.requirement("11.11-what-does-not-narrow-is-refused")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"scope": ["view:**"]}, "'view:**' reaches further than the token\n  do  stay within domain:devices.disable"),
        ({"scope": ["view:devices.**", "view:*.table"]}, "'view:*.table' reaches further"),
        ({"scope": ["domain:devices.*"]}, "'domain:devices.*' reaches further"),
        ({"scope": ["region:**"]}, "'region:**' reaches further"),
        ({"scope": ["region:*/**"]}, "'region:*/**' reaches further"),
        ({"scope": ["region:devices.page"]}, "'region:devices.page' reaches further"),
        ({"ttl": 61}, "the token has 60 s left, and attenuate(ttl=61) is more"),
        ({"session": "vew_2"}, "the token reaches the view vew_1 only, and session='vew_2' is another"),
        ({"actor": ""}, "names its actor"),
        ({"ttl": 0}, "more than 0 seconds"),
        ({"scope": [f"view:devices.a{number}" for number in range(101)]}, "at most 100 patterns"),
    ],
    ids=repr,
)
def test_what_reaches_further_is_refused_with_what_and_why(asked: dict[str, Any], told: str) -> None:
    of = issuer()
    whole: dict[str, Any] = {"actor": "helper", "scope": ["view:devices.**"], **asked}
    with pytest.raises(ValueError) as refused:
        of.attenuate(minted(of, ttl=60, session="vew_1"), **whole)
    assert told in str(refused.value)


@pytest.mark.requirement("11.11-what-does-not-narrow-is-refused")
def test_a_fourth_token_of_a_chain_is_refused() -> None:
    of = issuer()
    third = minted(of)
    for actor in ("helper", "clerk"):
        third = of.attenuate(third, actor=actor, scope=PAGE)
    with pytest.raises(ValueError, match="at most 3 tokens"):
        of.attenuate(third, actor="last", scope=PAGE)


@pytest.mark.requirement("11.11-what-does-not-narrow-is-refused")
def test_only_a_token_that_is_good_now_is_narrowed() -> None:
    clock = ManualClock()
    of = issuer(clock)
    revoked, old = minted(of), minted(of, ttl=10)
    of.revoke(revoked, **WHY)
    clock.advance(10)
    foreign = Delegations(Keys.fresh(), clock, Limits()).mint(PERSON, actor="agent", scope=PAGE)
    for token in (revoked, old, foreign, "nonsense"):
        with pytest.raises(PermissionError, match="foreign, revoked or has ended") as refused:
            of.attenuate(token, actor="helper", scope=PAGE)
        assert token not in str(refused.value)


@pytest.mark.requirement("11.11-every-claim-has-its-shape")
@pytest.mark.parametrize(
    "changed",
    [
        {"par": ["dlg_0"]},
        {"par": "dlg_0"},
        {"par": [7]},
        {"act": {"sub": "b", "act": {"sub": "a"}}},
        {"act": {"sub": "b", "act": "a"}, "par": ["dlg_0"]},
        {"act": {"sub": "b", "act": {"sub": ""}}, "par": ["dlg_0"]},
        {
            "act": {"sub": "d", "act": {"sub": "c", "act": {"sub": "b", "act": {"sub": "a"}}}},
            "par": ["dlg_0", "dlg_1", "dlg_2"],
        },
    ],
    ids=repr,
)
def test_a_chain_that_is_not_of_the_shape_is_none(changed: dict[str, Any]) -> None:
    of = issuer()
    said = jwt.decode(minted(of), options={"verify_signature": False})

    def token(claims: dict[str, Any]) -> str:
        return jwt.encode(claims, SECRET, algorithm="HS256", headers={"kid": "k"})

    assert of.verify(token(said)) is not None
    assert of.verify(token({**said, "act": {"sub": "b", "act": {"sub": "a"}}, "par": ["dlg_0"]})) is not None
    assert of.verify(token({**said, **changed})) is None


@pytest.mark.requirement("11.11-what-is-revoked-is-judged")
@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ({"token": "nonsense"}, ValueError, "no token of this gateway, and no id of one (dlg_…)"),
        ({"token": 7}, TypeError, "revoke(token=…) is text, not int"),
        ({"by": 7}, TypeError, "revoke(by=…) is text, not int"),
        ({"why": " "}, ValueError, "revoke(why=…) is empty"),
        ({"by": ""}, ValueError, "revoke(by=…) is empty"),
    ],
)
def test_what_is_revoked_is_judged(said: dict[str, Any], kind: type[Exception], told: str) -> None:
    of = issuer()
    token = minted(of)
    with pytest.raises(kind) as refused:
        of.revoke(**{"token": token, **WHY, **said})
    assert told in str(refused.value)
    assert token not in str(refused.value)
    assert of.verify(token) is not None


@pytest.mark.requirement("11.11-what-is-revoked-is-judged")
def test_a_token_of_another_gateway_is_not_revoked_here_and_one_that_has_ended_needs_no_revocation() -> None:
    clock = ManualClock()
    of = issuer(clock)
    token = minted(of, ttl=10)
    foreign = Delegations(Keys.fresh(), clock, Limits()).mint(PERSON, actor="agent", scope=PAGE)
    with pytest.raises(ValueError) as refused:
        of.revoke(foreign, **WHY)
    assert foreign not in str(refused.value)
    clock.advance(10)
    assert of.revoke(token, **WHY) is False


@pytest.mark.requirement("11.11-clocks")
def test_a_token_counts_from_a_little_before_its_beginning_and_not_a_moment_after_its_end() -> None:
    ahead, behind = ManualClock(), ManualClock()
    ahead.advance(5)
    token = minted(issuer(ahead), ttl=60)
    here = issuer(behind)
    assert here.verify(token) is not None
    ahead.advance(1)
    assert here.verify(minted(issuer(ahead))) is None
    behind.advance(64.5)
    assert here.verify(token) is not None
    behind.advance(0.5)
    assert here.verify(token) is None
