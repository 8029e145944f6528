"""However a token is narrowed, its chain reaches no further and lives no longer at any step (SPEC 11.11)."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import Limits, ManualClock, Principal
from remit._model.pattern import Scope
from remit._session.claims import Delegation
from remit._session.delegation import Delegations, Keys

NAMES = ("a", "b")
ISSUER = Keys("k", {"k": b"s" * 32})


def patterns(prefix: str, joint: str) -> st.SearchStrategy[str]:
    inner = st.lists(st.sampled_from([*NAMES, "*"]), max_size=2)
    last = st.sampled_from([*NAMES, "*", "**"])
    return st.builds(lambda before, end: prefix + joint.join([*before, end]), inner, last)


SCOPES = st.lists(
    st.one_of(patterns("view:", "."), patterns("domain:", "."), patterns("region:", "/")), min_size=1, max_size=3
)
PLACES = [list(place) for length in range(1, 5) for place in itertools.product(NAMES, repeat=length)]
STEPS = st.lists(
    st.fixed_dictionaries(
        {"scope": SCOPES},
        optional={"ttl": st.integers(1, 1_000), "session": st.sampled_from(["vew_1", "vew_2"])},
    ),
    min_size=1,
    max_size=3,
)


def chain(scope: list[str], steps: list[Mapping[str, Any]], waits: list[int]) -> list[Delegation]:
    """Every token that came to be, in order; a refusal ends the chain."""
    clock = ManualClock()
    of = Delegations(ISSUER, clock, Limits())
    token = of.mint(Principal("ada"), actor="a0", scope=scope)
    found = [of.verify(token)]
    for number, (step, wait) in enumerate(zip(steps, waits, strict=False), start=1):
        clock.advance(wait)
        try:
            token = of.attenuate(token, actor=f"a{number}", **step)
        except (ValueError, PermissionError):
            break
        found.append(of.verify(token))
    return [each for each in found if each is not None]


@pytest.mark.requirement("11.11-a-chain-only-narrows")
@given(scope=SCOPES, steps=STEPS, waits=st.lists(st.integers(0, 500), min_size=3, max_size=3))
def test_a_chain_only_narrows(scope: list[str], steps: list[Mapping[str, Any]], waits: list[int]) -> None:
    tokens = chain(scope, steps, waits)
    assert len(tokens) <= 3
    for wider, narrower in itertools.pairwise(tokens):
        assert narrower.expires_at <= wider.expires_at
        assert narrower.actors[:-1] == wider.actors
        assert narrower.consumer.lineage[:-1] == wider.consumer.lineage
        assert wider.session in {None, narrower.session}
        reach, whole = Scope(narrower.scope), Scope(wider.scope)
        for place in PLACES:
            for id in (f"view:{'.'.join(place)}", f"domain:{'.'.join(place)}"):
                assert id not in reach or id in whole
            assert not reach.holds("/".join(place)) or whole.holds("/".join(place))


@pytest.mark.requirement("11.11-a-chain-only-narrows")
@given(scope=SCOPES)
def test_every_scope_is_within_itself_and_within_everything(scope: list[str]) -> None:
    reach = Scope(scope)
    assert reach.beyond(reach) == ()
    assert reach.beyond(Scope(["view:**", "domain:**", "region:**"])) == ()


@pytest.mark.requirement("11.11-a-chain-only-narrows")
@given(narrow=SCOPES, wide=SCOPES)
def test_what_is_within_a_scope_reaches_nothing_that_is_not(narrow: list[str], wide: list[str]) -> None:
    reach, whole = Scope(narrow), Scope(wide)
    beyond = Scope(reach.beyond(whole))
    for place in PLACES:
        for id in (f"view:{'.'.join(place)}", f"domain:{'.'.join(place)}"):
            assert id not in reach or id in whole or id in beyond
        region = "/".join(place)
        assert not reach.holds(region) or whole.holds(region) or beyond.holds(region)
