"""The file of a development key: nobody else reads it, and production has none (SPEC 15.1)."""

import os
import stat
from pathlib import Path

import pytest

from remit._session.key_file import secret_in
from remit.gateway import Keys


@pytest.mark.requirement("15.1-a-development-key-file")
def test_the_file_is_made_for_its_owner_alone_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "key"
    secret = secret_in(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret_in(file) == secret and len(secret) == 64
    assert secret_in(tmp_path / "other") != secret


@pytest.mark.requirement("15.1-a-development-key-file")
def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    secret_in(file)
    file.chmod(0o640)
    with pytest.raises(PermissionError, match="chmod 600"):
        secret_in(file)


@pytest.mark.requirement("15.1-a-development-key-file")
@pytest.mark.parametrize("text", ["", "short", "g" * 64, "a" * 65, "a" * 64 + "\nmore"])
def test_what_holds_no_such_key_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(ValueError, match="holds no development key"):
        secret_in(file)
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.requirement("15.1-a-development-key-file")
def test_production_refuses_it_and_says_how_to_make_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "REMIT_ENV", "production")
    with pytest.raises(RuntimeError, match="token_hex"):
        Keys.of_development(tmp_path / "key")
    assert not (tmp_path / "key").exists()
