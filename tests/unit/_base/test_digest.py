import pytest

from remit._base.digest import keyed_hex, same, sha256_hex


def test_sha256_of_the_empty_text_is_the_known_one() -> None:
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_keyed_digest_is_hmac_as_rfc_4231_has_it() -> None:
    assert keyed_hex(b"Jefe", b"what do ya want for nothing?") == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        keyed_hex(b"", b"x")


def test_comparing_takes_any_text() -> None:
    assert same("ä", "ä")
    assert same("\ud800", "\ud800")
    assert same(b"a", "a")
    assert not same("a", "b")
    assert not same("a", "")
