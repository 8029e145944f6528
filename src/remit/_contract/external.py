"""What a dependency adds to a contract, and what was approved of it (SPEC 13.5)."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._base.boundary import Json, canonical, take
from remit._base.digest import sha256_hex
from remit._contract.distribution import Distribution, installed
from remit.errors import DefinitionCode, DefinitionError

_DO: Final = "install what was approved; or approve what is installed in [tool.remit.external], and remit compile"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalRecord:
    """One approved distribution.

    `components` are the types that it declares, `extends` those of the project or of other distributions that build
    upon its classes. `digest` is what was computed, over its rows and, unless they are left out, `files`; `approved` is
    what the project's settings say. Without files the version is not recorded either: any that has these rows will do.
    """

    name: str
    version: str | None
    components: tuple[str, ...]
    extends: tuple[str, ...]
    files: str | None
    digest: str
    approved: str

    def to_json(self) -> dict[str, Json]:
        """The block of the contract."""
        return {
            "name": self.name,
            "version": self.version,
            "components": list(self.components),
            "extends": list(self.extends),
            "files": self.files,
            "digest": self.digest,
            "approved": self.approved,
        }


def external_from_json(block: Mapping[str, Json]) -> ExternalRecord:
    """Read a block of the contract; KeyError, TypeError or ValueError when it is not one."""
    return ExternalRecord(
        name=_text(block["name"]),
        version=_text_or_none(block["version"]),
        components=_texts(block["components"]),
        extends=_texts(block["extends"]),
        files=_text_or_none(block["files"]),
        digest=_text(block["digest"]),
        approved=_text(block["approved"]),
    )


def digest_of(
    name: str,
    types: Iterable[str],
    files: str | None,
    *,
    components: Iterable[Mapping[str, Json]],
    capabilities: Iterable[Mapping[str, Json]],
) -> str:
    """`sha256:…` of what a distribution adds: its name, the rows of its component types, and its files.

    The blocks are without what no hash of a row covers.
    """
    own = set(types)
    held = sorted((each for each in components if each["type"] in own), key=lambda each: str(each["type"]))
    rows = sorted(
        (each for each in capabilities if each["component"] in own),
        key=lambda each: (str(each["component"]), str(each["id"])),
    )
    form, _ = take({"name": name, "components": held, "capabilities": rows, "files": files})
    return "sha256:" + sha256_hex(canonical(form))


def as_approved(record: ExternalRecord) -> Distribution:
    """The installed distribution of a record; DefinitionError(CONTRACT_MISMATCH) unless it is what was approved."""
    found = installed(record.name)
    if found is None:
        raise _wrong(record.name, "is approved in the contract and not installed")
    if record.files is not None and found.files_digest != record.files:
        was, now = f"{record.version}, {record.files}", f"{found.version}, {found.files_digest or 'an editable source'}"
        raise _wrong(record.name, "its installed files are not those that were approved", approved=was, installed=now)
    return found


def check_from(found: Distribution, type_name: str, modules: Iterable[str]) -> None:
    """Refuse a live class of an approved type when none of the modules it stands in is a file of the distribution."""
    if not any(_belongs(found, module) for module in modules):
        raise _wrong(found.name, f"is approved for {type_name}, and the live class is not from its files")


def _belongs(found: Distribution, module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    return isinstance(file, str) and found.path_of(Path(file).absolute()) is not None


def _wrong(name: str, rule: str, **facts: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.CONTRACT_MISMATCH, name, rule, do=_DO, facts=tuple(facts.items()))


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _text_or_none(value: Json) -> str | None:
    return None if value is None else _text(value)


def _texts(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("a list expected")
    return tuple(_text(each) for each in value)
