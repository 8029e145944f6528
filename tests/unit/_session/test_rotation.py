"""Keys that are replaced while gateways live: the one before still verifies, others are dropped (SPEC 11.11)."""

import gc
import weakref

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from remit import Limits, ManualClock, Principal
from remit._model.consumer import ConsumerKind
from remit._session.delegation import Delegations, Keys

ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))


def made(keys: Keys) -> Delegations:
    return Delegations(keys, ManualClock(), Limits())


def minted(delegations: Delegations) -> str:
    return delegations.mint(Principal("ada"), actor="agent", scope=["view:**"], kind="page")


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
def test_the_new_key_signs_the_one_before_still_verifies_and_every_other_is_dropped() -> None:
    keys = Keys("k2", {"k1": ONE, "k2": TWO})
    delegations = made(keys)
    before = Delegations(Keys("k1", {"k1": ONE}), ManualClock(), Limits())
    oldest, old = minted(before), minted(delegations)
    assert delegations.verify(oldest, kind=ConsumerKind.PAGE) and delegations.verify(old, kind=ConsumerKind.PAGE)
    keys.rotate("k3", Ed25519PrivateKey.generate())
    new = minted(delegations)
    assert (keys.active, jwt.get_unverified_header(new)["kid"], jwt.get_unverified_header(new)["alg"]) == (
        "k3",
        "k3",
        "EdDSA",
    )
    assert [delegations.verify(each, kind=ConsumerKind.PAGE) is not None for each in (oldest, old, new)] == [
        False,
        True,
        True,
    ]


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
def test_every_gateway_with_these_keys_forgets_what_a_dropped_one_signed() -> None:
    keys = Keys("k1", {"k1": ONE})
    one, other = made(keys), made(keys)
    token = minted(one)
    child = one.attenuate(token, actor="helper", scope=["view:devices.**"])
    assert other.verify(token, kind=ConsumerKind.PAGE) is not None
    keys.rotate("k2", TWO)
    grandchild = one.attenuate(child, actor="clerk", scope=["view:devices.**"])
    keys.rotate("k3", THREE)
    for delegations in (one, other):
        assert [delegations.verify(each, kind=ConsumerKind.PAGE) for each in (token, child)] == [None, None]
    assert one.verify(grandchild, kind=ConsumerKind.PAGE) is None, "it was narrowed from what a dropped key signed"


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
def test_the_secrets_of_confirmation_requests_follow() -> None:
    keys = Keys("k1", {"k1": ONE})
    confirming = keys.confirming()
    first = confirming.secret("k1")
    keys.rotate("k2", TWO)
    assert confirming is keys.confirming() and confirming.kids == ("k2", "k1")
    assert confirming.secret("k1") == first
    assert confirming.secret("k2") == Keys("k2", {"k2": TWO}).confirming().secret("k2")
    keys.rotate("k3", THREE)
    assert confirming.secret("k1") is None


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
@pytest.mark.parametrize(
    ("kid", "key", "told"),
    [
        ("k1", TWO, "already"),
        ("", TWO, "kid"),
        ("k2", b"short", "fewer than 32 bytes"),
        ("k2", Ed25519PrivateKey.generate().public_key(), "cannot sign"),
    ],
)
def test_what_is_no_key_to_sign_with_is_refused_and_nothing_changes(kid: str, key: bytes, told: str) -> None:
    keys = Keys("k1", {"k1": ONE})
    delegations = made(keys)
    token = minted(delegations)
    with pytest.raises(ValueError, match=told):
        keys.rotate(kid, key)
    assert keys.active == "k1"
    assert delegations.verify(token, kind=ConsumerKind.PAGE) is not None


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
def test_keys_hold_no_gateway_that_has_gone() -> None:
    keys = Keys("k1", {"k1": ONE})
    gone = weakref.ref(made(keys))
    gc.collect()
    assert gone() is None
    keys.rotate("k2", TWO)
    assert made(keys).verify(minted(made(keys)), kind=ConsumerKind.PAGE) is not None
