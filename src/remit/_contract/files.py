"""The two files of a project as they lie on disk: its settings and its contract (SPEC 3.7, 13.1)."""

import tomllib
from os.path import isdir
from pathlib import Path
from typing import Final

from remit._contract.manifest import Manifest, parse
from remit.errors import DefinitionCode, DefinitionError

_AWAY: Final = "move it away; remit compile; review; commit"


def settings_of(pyproject: Path, subject: str) -> object | None:
    """`[tool.remit]` of a project file, whatever stands there; None where there is no such file, or no such table.

    DefinitionError(CONTRACT_MISMATCH) names the file as `subject` and says why it cannot be read: nobody knows whose
    project a broken file declares, so no search goes past it.
    """
    try:
        with pyproject.open("rb") as file:
            tool = tomllib.load(file).get("tool", {})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise _broken(subject, f"cannot be read: {problem.strerror}", "correct it") from problem
    except UnicodeDecodeError as problem:
        raise _broken(subject, "is no TOML: it is no UTF-8", "correct it") from problem
    except tomllib.TOMLDecodeError as problem:
        raise _broken(subject, f"is no TOML: {problem}", "correct it") from problem
    except RecursionError as problem:
        raise _broken(subject, "is no TOML: it is nested too deep", "correct it") from problem
    if not isinstance(tool, dict):
        raise _broken(subject, "is no project file: tool is no table", "correct it")
    return tool.get("remit")


def contract_at(file: Path) -> Manifest | None:
    """The contract in a file, verified; None where there is none.

    DefinitionError(CONTRACT_MISMATCH) says why it cannot be read, or what of it does not verify.
    """
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:  # which one a directory is depends on the system
        why = "is a directory and no file" if isdir(file) else f"cannot be read: {problem.strerror}"
        raise _broken(file.name, why, _AWAY) from problem
    return parse(data, subject=file.name)


def _broken(subject: str, rule: str, do: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.CONTRACT_MISMATCH, subject, rule, do=do)
