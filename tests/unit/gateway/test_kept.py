"""What a gateway keeps by the settings of its project: the store at `state`, the keys beside it (SPEC 15.1)."""

import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from remit import Authority, Component, DefinitionError, ManualClock, Principal, action
from remit.compiler import compile_project, write_contract
from remit.gateway import Gateway, Keys
from remit.store.memory import MemoryStore
from remit.store.sqlite import SQLiteStore, StoreError
from tests.behaviour.conftest import authority_of

APP = '''
from remit import Component, action


class Table(Component, type="table"):
    """Table."""

    @action
    def clear(self) -> None:
        """Clear the table."""
'''
SETTINGS = '[tool.remit]\nentries = ["app"]\nstate = ".remit/state.db"\n'
ADA = Principal("ada")


class Lamp(Component, type="lamp"):
    """A lamp."""

    @action
    def light(self) -> None:
        """Switch it on."""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMIT_ENV", "REMIT_COMPILE", "REMIT_DEV"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    write_contract(tmp_path, compile_project(tmp_path).manifest)
    return Authority.load(beside=str(tmp_path / "app.py"))


def token(gateway: Gateway) -> str:
    return gateway.delegate(ADA, actor="agent", scope=["view:**"])


@pytest.mark.requirement("15.1-the-gateways-default")
async def test_a_project_with_a_state_gets_a_store_and_a_development_key_and_both_outlive_the_process(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = Gateway(authority)
    kept = token(gateway)
    assert ".remit/keys.json" in caplog.text and "for development" in caplog.text
    view = gateway.open_view(principal=lambda: ADA, host=lambda: None, within=nullcontext, title="T", route="/")
    kinds = {finding.kind for finding in view.surface.findings()}
    assert "development-key" in kinds and "memory-store" not in kinds
    await gateway.stop()
    await gateway.stop()
    assert {file.name for file in (tmp_path / ".remit").iterdir()} == {".gitignore", "keys.json", "state.db"}
    again = Gateway(authority)
    assert again._delegations.verify(kept) is not None
    assert again.revoke(kept, by="admin", why="over")
    await again.stop()
    third = Gateway(authority)
    assert third._delegations.verify(kept) is None
    await third.stop()


@pytest.mark.requirement("15.1-no-key-no-start")
async def test_production_and_names_beyond_loopback_need_keys_and_are_told_the_command(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DefinitionError, match=r"(?s)no keys\.json.*do  remit keys new"):
        Gateway(authority, allowed_hosts=["app.example", "localhost"])
    monkeypatch.setenv("REMIT_ENV", "production")
    with pytest.raises(DefinitionError, match=r"(?s)no keys\.json.*do  remit keys new"):
        Gateway(authority)
    assert not (tmp_path / ".remit").exists()
    monkeypatch.delenv("REMIT_ENV")
    await Gateway(authority).stop()
    with pytest.raises(DefinitionError, match=r"(?s)made for development.*do  remit keys new"):
        Gateway(authority, allowed_hosts=["app.example"])
    monkeypatch.setenv("REMIT_ENV", "production")
    with pytest.raises(DefinitionError, match=r"(?s)made for development.*do  remit keys new"):
        Gateway(authority)


@pytest.mark.requirement("15.1-no-key-no-start", "15.1-keys-in-a-file")
async def test_the_command_is_enough_and_rotating_keeps_tokens_good(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remit(*arguments: str) -> str:
        command = ["python", "-c", "from remit.cli import main; main()", *arguments, "--project", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    monkeypatch.setenv("REMIT_ENV", "production")
    assert "k1 signs and binds" in remit("keys", "new")
    gateway = Gateway(authority, allowed_hosts=["app.example"])
    kept = token(gateway)
    await gateway.stop()
    assert "k2 signs and binds, k1 still reads" in remit("keys", "rotate")
    gateway = Gateway(authority, allowed_hosts=["app.example"])
    assert gateway._delegations.verify(kept) is not None
    newer = token(gateway)
    await gateway.stop()
    remit("keys", "rotate")
    gateway = Gateway(authority)
    assert (gateway._delegations.verify(kept), gateway._delegations.verify(newer) is None) == (None, False)
    await gateway.stop()


async def test_what_is_given_is_taken_and_the_settings_are_not_read(tmp_path: Path, authority: Authority) -> None:
    Gateway(authority, store=MemoryStore())
    assert not (tmp_path / ".remit").exists()
    gateway = Gateway(authority, keys=Keys("k1", {"k1": "s" * 32}))
    assert not (tmp_path / ".remit" / "keys.json").exists()
    await gateway.stop()
    own = SQLiteStore(tmp_path / "own.db", clock=ManualClock())
    gateway = Gateway(authority, store=own, keys=Keys("k1", {"k1": "s" * 32}))
    await gateway.stop()
    assert await own.confirmations.list() == []  # whoever opened it closes it
    own.close()
    with pytest.raises(DefinitionError, match="no key from the deployment"):
        Gateway(authority, store=own)


async def test_without_a_state_everything_is_in_memory(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    await Gateway(authority).stop()
    await Gateway(authority_of(Lamp)).stop()
    assert not (tmp_path / ".remit").exists()
    (tmp_path / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\nstate = 3\n', encoding="utf-8")
    with pytest.raises(DefinitionError, match="state is the path of a file"):
        Gateway(authority)


def test_the_compilers_child_makes_no_file(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    del authority
    monkeypatch.setenv("REMIT_COMPILE", "1")
    Gateway(Authority.load(beside=str(tmp_path / "app.py")))
    assert not (tmp_path / ".remit").exists()


async def test_a_state_that_cannot_be_opened_stops_the_start(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / ".remit").mkdir()
    (tmp_path / ".remit" / "state.db").write_text("no database" * 200, encoding="utf-8")
    with pytest.raises(StoreError, match="is no store"):
        Gateway(authority)
