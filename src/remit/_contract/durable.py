"""Where a project keeps what outlives its processes: `state` and `keys` of `[tool.remit]` (SPEC 15.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._contract.files import settings_of
from remit.errors import DefinitionCode, DefinitionError

PYPROJECT: Final = "pyproject.toml"
KEYS: Final = "keys.json"
SETTINGS: Final = ("state", "keys")


@dataclass(frozen=True, slots=True)
class Durable:
    """The file of the store, and the file of the keys; beside the store where the project names none."""

    state: Path
    keys: Path


def durable_of(folder: Path) -> Durable | None:
    """What the project in `folder` says; None where it names no `state`, or there is no such project.

    Paths are relative to the folder. DefinitionError: a setting of another shape, or a file that cannot be read.
    """
    table = settings_of(folder / PYPROJECT, PYPROJECT)
    if not isinstance(table, Mapping) or table.get("state") is None:
        return None
    if wrong := wrongly_set(table):
        rule = f"[tool.remit] {wrong[0]} is the path of a file"
        raise DefinitionError(DefinitionCode.CONTRACT_MISMATCH, PYPROJECT, rule, do=f'{wrong[0]} = ".remit/…"')
    state, keys = folder / str(table["state"]), table.get("keys")
    return Durable(state, state.with_name(KEYS) if keys is None else folder / str(keys))


def wrongly_set(table: Mapping[str, object]) -> list[str]:
    """The settings that are no path."""
    given = [(name, table[name]) for name in SETTINGS if name in table]
    return [name for name, value in given if not isinstance(value, str) or not value.strip()]
