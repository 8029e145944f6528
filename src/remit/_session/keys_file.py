"""The keys of a deployment in one file: made by `remit keys new`, replaced by `remit keys rotate` (SPEC 15.1)."""

import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_BYTES: Final = 32
_MODE: Final = 0o600
_MOST: Final = 65_536
_SECRET: Final = re.compile(r"[0-9a-f]{64}")
_KID: Final = re.compile(r"k([1-9][0-9]{0,8})")
NEW: Final = "remit keys new"
ROTATE: Final = "remit keys rotate"


@dataclass(frozen=True, slots=True, repr=False)
class KeysFile:
    """What stands in the file: secrets by `kid`, which of them is active, and whether they are for development."""

    active: str
    keys: Mapping[str, str]
    development: bool


def read_keys(file: Path) -> KeysFile | None:
    """What the file holds; None where there is none.

    PermissionError: others may read or write it. ValueError: it holds no keys.
    """
    try:
        opened = file.open("rb")
    except FileNotFoundError:
        return None
    with opened:
        mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
        text = opened.read(_MOST)
    if os.name == "posix" and mode & ~_MODE:
        raise PermissionError(f"{file.name} may be read or written by others\n  do  chmod 600 {file}")
    found = _of(text)
    if found is None:
        raise ValueError(f"{file.name} holds no keys\n  do  move it away, and write another: {NEW}")
    return found


def new_keys(file: Path, *, development: bool = False) -> KeysFile:
    """Write a file with one fresh key, for its owner alone, and keep git from taking it up.

    One for development is replaced, and its key is not kept; any other is a FileExistsError that names
    `remit keys rotate`.
    """
    made = KeysFile("k1", {"k1": secrets.token_hex(_BYTES)}, development)
    private_folder(file.parent)
    try:
        _create(file, made)
    except FileExistsError:
        there = read_keys(file)
        if development or (there is not None and not there.development):
            raise FileExistsError(f"{file.name} is there already\n  do  {ROTATE}") from None
        _replace(file, made)
    return made


def rotate_keys(file: Path) -> KeysFile:
    """Make a new key the active one; the one before still reads, every other is dropped.

    FileNotFoundError: there is no file. ValueError: it was made for development, and rotating would keep its key;
    `remit keys new` replaces it. What is bound with a dropped key is answered like an unknown one.
    """
    there = read_keys(file)
    if there is None:
        raise FileNotFoundError(f"there is no {file.name}\n  do  {NEW}")
    if there.development:
        raise ValueError(f"{file.name} was made for development, and rotating would keep its key\n  do  {NEW}")
    numbers = [int(found.group(1)) for kid in there.keys if (found := _KID.fullmatch(kid))]
    kid = f"k{max(numbers, default=0) + 1}"
    keys = {there.active: there.keys[there.active], kid: secrets.token_hex(_BYTES)}
    rotated = KeysFile(kid, keys, development=False)
    _replace(file, rotated)
    return rotated


def private_folder(folder: Path) -> None:
    """Make the folder, where it is not there, with a file that keeps git from taking up what lies in it."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _create(file: Path, keys: KeysFile) -> None:
    made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    with os.fdopen(made, "wb") as opened:
        opened.write(_text(keys))
        opened.flush()
        os.fsync(opened.fileno())


def _replace(file: Path, keys: KeysFile) -> None:
    """All of it or nothing: whoever reads meanwhile has the old file or the new one."""
    beside = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        _create(beside, keys)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _text(keys: KeysFile) -> bytes:
    form: dict[str, Any] = {"active": keys.active, "keys": dict(keys.keys)}
    if keys.development:
        form["development"] = True
    return json.dumps(form, indent=1).encode() + b"\n"


def _of(text: bytes) -> KeysFile | None:
    try:
        form: object = json.loads(text)
    except ValueError:
        return None
    if not isinstance(form, dict):
        return None
    active, keys, development = form.get("active"), form.get("keys"), form.get("development", False)
    if not isinstance(active, str) or not isinstance(keys, dict) or active not in keys:
        return None
    if not all(isinstance(key, str) and _SECRET.fullmatch(key) for key in keys.values()):
        return None
    return KeysFile(active, keys, bool(development))
