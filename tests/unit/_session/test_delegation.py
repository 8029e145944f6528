"""A token is exactly what the host signed, for one door, one agent and a short time."""

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from remit import DefinitionError, Limits, ManualClock, Principal
from remit._session.delegation import Delegations, Keys

PERSON = Principal("ada", tenant="acme")
SECRET = b"s" * 32


def delegations(keys: Keys | None = None, clock: ManualClock | None = None) -> Delegations:
    return Delegations(keys or Keys.fresh(), clock or ManualClock(), Limits())


def claims(**changed: Any) -> dict[str, Any]:
    """What `mint` writes, with something changed; None leaves a claim out."""
    now = int(ManualClock().now().timestamp())
    usual = {
        "iss": "remit",
        "aud": "remit:mcp",
        "sub": "ada",
        "act": {"sub": "agent"},
        "scope": ["view:**"],
        "nbf": now,
        "exp": now + 60,
        "jti": "dlg_1",
    }
    return {key: value for key, value in {**usual, **changed}.items() if value is not None}


@pytest.mark.requirement("11.11-what-a-token-says")
@pytest.mark.parametrize("keys", [Keys.fresh(), Keys("k1", {"k1": SECRET})], ids=["EdDSA", "HS256"])
def test_a_token_says_whose_views_which_agent_and_what_scope(keys: Keys) -> None:
    issuer = delegations(keys)
    token = issuer.mint(PERSON, actor="agent", scope=["view:devices.**"], session="vew_1")
    found = issuer.verify(token)
    assert found is not None
    assert (found.principal, found.actors, found.scope) == (("acme", "ada"), ("agent",), ("view:devices.**",))
    assert found.session == "vew_1"
    assert found.consumer.key == ("mcp", "remit", ("agent",), found.jti)
    assert found.consumer.scope is not None
    assert "view:devices.table.read" in found.consumer.scope


@pytest.mark.requirement("11.11-every-token-is-a-consumer")
def test_every_token_is_another_consumer() -> None:
    issuer = delegations()
    first, second = (issuer.verify(issuer.mint(PERSON, actor="agent", scope=["view:**"])) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.consumer.key != second.consumer.key


@pytest.mark.requirement("11.11-fifteen-minutes")
def test_a_token_lives_from_its_minting_to_its_last_second() -> None:
    clock = ManualClock()
    issuer = delegations(clock=clock)
    token = issuer.mint(PERSON, actor="agent", scope=["view:**"])
    clock.advance(899)
    assert issuer.verify(token) is not None
    clock.advance(1)
    assert issuer.verify(token) is None


@pytest.mark.requirement("11.11-not-before")
def test_a_token_of_the_future_is_none() -> None:
    clock = ManualClock()
    keys = Keys.fresh()
    clock.advance(100)
    token = delegations(keys, clock).mint(PERSON, actor="agent", scope=["view:**"])
    assert delegations(keys, ManualClock()).verify(token) is None


@pytest.mark.requirement("11.11-keys-rotate")
def test_an_older_key_still_verifies_and_an_unknown_one_does_not() -> None:
    old, new = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    token = delegations(Keys("k1", {"k1": old})).mint(PERSON, actor="agent", scope=["view:**"])
    assert delegations(Keys("k2", {"k1": old.public_key(), "k2": new})).verify(token) is not None
    assert delegations(Keys("k2", {"k2": new})).verify(token) is None


@pytest.mark.requirement("14.0-keys")
def test_keys_are_taken_as_pem_too() -> None:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    token = delegations(Keys("k", {"k": private})).mint(PERSON, actor="agent", scope=["view:**"])
    assert delegations(Keys("new", {"k": public.decode(), "new": SECRET})).verify(token) is not None
    with pytest.raises(ValueError, match="cannot sign"):
        Keys("k", {"k": public})


@pytest.mark.requirement("14.0-keys")
def test_a_key_of_another_kind_is_refused_by_name() -> None:
    other = generate_private_key(SECP256R1())
    for encoded in (
        other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    ):
        with pytest.raises(ValueError, match="the key 'odd' is not an Ed25519 key"):
            Keys("k", {"k": SECRET, "odd": encoded})


@pytest.mark.requirement("11.11-every-claim-has-its-shape")
@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "other"},
        {"aud": "remit:webmcp"},
        {"sub": None},
        {"sub": 7},
        {"act": "agent"},
        {"act": {}},
        {"scope": "view:**"},
        {"scope": ["nonsense"]},
        {"scope": [f"view:a{number}.**" for number in range(101)]},
        {"jti": None},
        {"exp": None},
        {"nbf": None},
        {"nbf": "soon"},
        {"exp": ["later"]},
        {"tenant": 7},
        {"session": ["vew_1"]},
    ],
    ids=repr,
)
def test_a_signed_token_that_is_not_of_the_shape_is_none(changed: dict[str, Any]) -> None:
    def token(body: dict[str, Any]) -> str:
        return jwt.encode(body, SECRET, algorithm="HS256", headers={"kid": "k"})

    verifier = delegations(Keys("k", {"k": SECRET}))
    assert verifier.verify(token(claims())) is not None
    assert verifier.verify(token(claims(**changed))) is None


@pytest.mark.requirement("11.11-the-key-decides-the-algorithm")
def test_the_key_decides_the_algorithm() -> None:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    verifier = delegations(Keys("k", {"k": key}))
    # The public key is no secret, so a token signed with it as one must not count.
    assert verifier.verify(jwt.encode(claims(), public, algorithm="HS256", headers={"kid": "k"})) is None
    head = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "k"}).encode()).rstrip(b"=").decode()
    body = base64.urlsafe_b64encode(json.dumps(claims()).encode()).rstrip(b"=").decode()
    assert verifier.verify(f"{head}.{body}.") is None


@pytest.mark.requirement("11.11-every-claim-has-its-shape")
@pytest.mark.parametrize("text", ["", "a.b.c", "é.é.é", "x" * 10_000, "\ud800"])
def test_any_other_text_is_none(text: str) -> None:
    assert delegations().verify(text) is None


@pytest.mark.requirement("11.11-what-no-token-may-say")
def test_what_no_token_may_say_is_refused_when_it_is_minted() -> None:
    issuer = delegations()
    with pytest.raises(DefinitionError):
        issuer.mint(PERSON, actor="agent", scope=["devices"])
    with pytest.raises(ValueError, match="100 patterns"):
        issuer.mint(PERSON, actor="agent", scope=[f"view:a{number}.**" for number in range(101)])
    with pytest.raises(ValueError, match="actor"):
        issuer.mint(PERSON, actor="", scope=["view:**"])
    with pytest.raises(ValueError, match="0 seconds"):
        issuer.mint(PERSON, actor="agent", scope=["view:**"], ttl=0)


@pytest.mark.requirement("11.11-what-a-token-says-is-judged")
@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ({"principal": "ada"}, TypeError, "delegate(principal, …) takes a Principal, not str"),
        ({"actor": 7}, ValueError, "names its actor"),
        ({"ttl": "900"}, TypeError, "delegate(ttl=…) is a number of seconds, not str"),
        ({"ttl": True}, TypeError, "not bool"),
        ({"ttl": float("inf")}, ValueError, "not for ever"),
        ({"ttl": float("nan")}, ValueError, "more than 0 seconds"),
        ({"ttl": 0.3}, ValueError, "delegate(ttl=…) is at least 1 second, not 0.3"),
        ({"ttl": 1e300}, ValueError, "delegate(ttl=…) ends after the year 9999"),
        ({"ttl": 10**400}, ValueError, "delegate(ttl=…) ends after the year 9999"),
        ({"actor": "\x00"}, ValueError, "delegate(actor=…) holds U+0000"),
        ({"actor": "\ud800"}, ValueError, "delegate(actor=…) holds U+D800"),
        ({"session": " "}, ValueError, "delegate(session=…) is empty"),
        ({"session": 7}, TypeError, "delegate(session=…) is the id of a view, not int"),
        ({"kind": "http"}, ValueError, "delegate(kind=…): 'http' is none of embedded, mcp"),
    ],
)
def test_what_a_token_says_is_judged_when_it_is_minted(said: dict[str, Any], kind: type[Exception], told: str) -> None:
    whole: dict[str, Any] = {"principal": PERSON, "actor": "agent", "scope": ["view:**"], **said}
    with pytest.raises(kind) as refused:
        delegations().mint(whole.pop("principal"), **whole)
    assert told in str(refused.value)


@pytest.mark.requirement("11.11-what-a-token-says-is-judged")
@pytest.mark.parametrize("ttl", [1, 1.5, 250_000_000_000])
def test_a_token_that_is_minted_or_narrowed_is_one_that_is_good(ttl: float) -> None:
    issuer = delegations()
    token = issuer.mint(PERSON, actor="agent", scope=["view:**"], ttl=ttl)
    assert issuer.verify(token) is not None
    assert issuer.verify(issuer.attenuate(token, actor="a further one", scope=["view:**"])) is not None
    for said, told in (({"actor": "\x00"}, "holds U.0000"), ({"ttl": 0.3}, "at least 1 second")):
        whole: dict[str, Any] = {"actor": "a further one", "scope": ["view:**"], **said}
        with pytest.raises(ValueError, match=told):
            issuer.attenuate(token, **whole)


WRONG_KEYS: list[tuple[Any, Any, type[Exception], str]] = [
    ("k", ["k"], TypeError, "Keys(active, keys) takes keys by kid, not list"),
    ("k", "k", TypeError, "takes keys by kid, not str"),
    ("k", {"k": 5}, ValueError, "the key “k” is bytes or text, not int"),
    ("k", {"k": None}, ValueError, "the key “k” is bytes or text, not NoneType"),
    ("k", {"k": "\ud800" * 32}, ValueError, "the key “k” holds a lone surrogate"),
    ("k", {"k": b"-----BEGIN x"}, ValueError, "the key 'k' cannot be read"),
    ("k", {"k": b"-----BEGIN PUBLIC KEY"}, ValueError, "the key 'k' cannot be read"),
    ("", {"": SECRET}, ValueError, "a key has a name, its kid, as text: '' is none"),
    (5, {5: SECRET}, ValueError, "a key has a name, its kid, as text: 5 is none"),
    ([], {"k": SECRET}, ValueError, "is not among the keys"),
]


@pytest.mark.requirement("14.0-arguments-are-judged")
@pytest.mark.parametrize(("active", "keys", "kind", "told"), WRONG_KEYS)
def test_what_are_no_keys_is_refused_by_name(active: Any, keys: Any, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind) as refused:
        Keys(active, keys)
    assert told in str(refused.value)


@pytest.mark.requirement("14.0-keys")
def test_a_short_secret_and_a_missing_active_key_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Keys("k", {"k": b"short"})
    with pytest.raises(ValueError, match="not among"):
        Keys("k2", {"k1": SECRET})
