"""What a program gets from the `remit dev` that started it, and what it tells it (SPEC 13.7)."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit._contract.authority import Authority
from remit._contract.development import HANDED, handed_out, report
from remit._contract.manifest import FILE_NAME, assemble, parse


@contextmanager
def answering(folder: Path, answer: bytes) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A socket that answers one question so; its address, and what it was asked."""
    asked: list[dict[str, str]] = []
    address = str(folder / "dev.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen(1)

        def serve() -> None:
            line, _ = listening.accept()
            with line, line.makefile("rb") as words:
                asked.append(json.loads(words.readline()))
                line.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield address, asked
        thread.join(20)
        assert not thread.is_alive()


def test_outside_of_remit_dev_nothing_is_handed_over_and_nothing_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HANDED, raising=False)
    assert handed_out(tmp_path) is None
    report({"url": "http://127.0.0.1"})


def test_a_project_is_handed_its_contract_and_another_reads_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, contract in ((b'contract\n{"version": 1}', b'{"version": 1}'), (b"other\n", None)):
        folder = tmp_path / str(contract is None)
        folder.mkdir()
        with answering(folder, answer) as (address, asked):
            monkeypatch.setenv(HANDED, address)
            assert handed_out(folder) == contract
        assert asked == [{"root": str(folder.resolve())}]


def test_an_authority_is_loaded_from_what_is_handed_over_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = assemble([], [], {}, exposure={}, policies=()).to_bytes()
    with answering(tmp_path, b"contract\n" + contract) as (address, _):
        monkeypatch.setenv(HANDED, address)
        handed = Authority.load(tmp_path / FILE_NAME)
    assert handed.development and handed.hash == Authority(parse(contract)).hash
    assert not (tmp_path / FILE_NAME).exists()


def test_an_answer_that_is_none_is_no_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(tmp_path, b"") as (address, _):
        monkeypatch.setenv(HANDED, address)
        with pytest.raises(RuntimeError, match="the remit dev that started this program has ended"):
            handed_out(tmp_path)


@pytest.mark.parametrize("word", ["production", " Production "])
def test_in_production_nothing_is_handed_over(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HANDED, str(tmp_path / "dev.sock"))
    monkeypatch.setenv("REMIT_ENV", word)
    with pytest.raises(RuntimeError, match="refused with REMIT_ENV=production"):
        handed_out(tmp_path)


def test_where_a_program_serves_is_told_and_nobody_listening_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(tmp_path, b"") as (address, asked):
        monkeypatch.setenv(HANDED, address)
        report({"url": "http://127.0.0.1"})
    assert asked == [{"url": "http://127.0.0.1"}]
    report({"url": "http://127.0.0.1"})
    with pytest.raises(RuntimeError, match="has ended"):
        handed_out(tmp_path)
