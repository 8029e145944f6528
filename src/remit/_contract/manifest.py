"""The reviewable contract: sorted JSON, one capability a block, every row and the whole hashed (SPEC 13.4, 3.7)."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Final, TypeVar, cast

from remit._base.boundary import Json, NotJson, canonical, take
from remit._base.digest import sha256_hex
from remit._base.text import clean_line, q
from remit._contract.external import ExternalRecord, digest_of, external_from_json
from remit._contract.form import CAPABILITY, COMPONENT, misformed
from remit._contract.operation import OperationRecord, record_from_json
from remit._contract.options import DERIVED, DOORS
from remit._model.effects import Kind
from remit._model.pattern import Patterns
from remit.errors import DefinitionCode, DefinitionError

FORMAT: Final = 1
FILE_NAME: Final = "remit.contract.json"
_PARTS: Final = frozenset({"generator", "hash", "head", "components", "capabilities", "operations"})
_EXTERNAL: Final = "external"
_HEAD_PARTS: Final = frozenset({"format", "exposure", "policies"})
_BOTH_PLANES: Final = "both_planes"
_WARN: Final = "warn"
_GENERATOR_LIMIT: Final = 100
_TOLD_LIMIT: Final = 200
Block = dict[str, Json]
RENAME: Final = 'rename one of the two, or allow it by  [tool.remit]  both_planes = "warn"  and compile'
# In no row's hash: which targets a capability is built into says nothing about it. The hash of the whole covers it.
BESIDE: Final = frozenset({"hash", "targets"})
RowKey = tuple[str, str]
KeyT = TypeVar("KeyT", str, RowKey)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Manifest:
    """A verified contract. `capabilities` is keyed by (component type, capability id).

    Several components may reference one operation, so the id of a reference alone is no key. `external` are the
    approved distributions that declare some of the components; the part is there where there are any. With
    `warns_of_planes` a name may stand on both planes, and is told of instead of refused; the head says so then.
    """

    exposure: Mapping[str, tuple[str, ...]]
    policies: tuple[str, ...]
    components: Mapping[str, Block]
    capabilities: Mapping[RowKey, Block]
    operations: Mapping[str, OperationRecord]
    hash: str
    external: Mapping[str, ExternalRecord] = field(default_factory=lambda: MappingProxyType({}))
    warns_of_planes: bool = False

    @property
    def on_both_planes(self) -> tuple[str, ...]:
        """Each X of which there are `view:X` and `domain:X`, sorted; none unless it `warns_of_planes` (SPEC 2.7)."""
        return _on_both_planes(self.capabilities)

    def to_bytes(self) -> bytes:
        """The file: equal bytes for equal declarations, whatever the path, hash seed, locale or import order."""
        return self.written_by(_generator())

    def written_by(self, generator: str) -> bytes:
        """The file as another version wrote it; the generator's name and version are in no hash (SPEC 13.4)."""
        form = {"generator": generator, "hash": self.hash, **self._hashed()}
        return (json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")

    def _hashed(self) -> dict[str, Json]:
        external: dict[str, Json] = {}
        if self.external:
            external[_EXTERNAL] = [self.external[name].to_json() for name in sorted(self.external)]
        planes: dict[str, Json] = {_BOTH_PLANES: _WARN} if self.warns_of_planes else {}
        return external | {
            "head": {
                "format": FORMAT,
                "exposure": {door: list(texts) for door, texts in sorted(self.exposure.items())},
                "policies": list(self.policies),
                **planes,
            },
            "components": [self.components[name] for name in sorted(self.components)],
            "capabilities": [self.capabilities[key] for key in sorted(self.capabilities)],
            "operations": [self.operations[name].to_json() for name in sorted(self.operations)],
        }


def assemble(  # noqa: PLR0913 - one keyword a part of the head
    components: Iterable[Block],
    capabilities: Iterable[Block],
    operations: Mapping[str, OperationRecord],
    *,
    exposure: Mapping[str, Iterable[str]],
    policies: Iterable[str],
    external: Iterable[ExternalRecord] = (),
    warns_of_planes: bool = False,
) -> Manifest:
    """Build the contract of some components from their blocks; only operations that a reference names are recorded.

    DefinitionError: a type twice, `view:X` and `domain:X` unless it `warns_of_planes` (SPEC 2.7), an unknown door or a
    malformed pattern.
    """
    external = tuple(external)
    by_type: dict[str, Block] = {}
    for block in components:
        name = str(block["type"])
        if name in by_type:
            raise DefinitionError(
                DefinitionCode.DUPLICATE_CAPABILITY, name, "two classes declare this type", do="rename one"
            )
        by_type[name] = _with_hash(block)
    by_key = {_row_key(block): _with_hash(block) for block in capabilities}
    _check_headless(by_type, by_key, external)
    if not warns_of_planes:
        _check_planes(by_key)
    used = {str(block["operation"]) for block in by_key.values() if "operation" in block}
    manifest = Manifest(
        exposure=_checked_exposure(exposure),
        policies=tuple(sorted(set(policies))),
        components=by_type,
        capabilities=by_key,
        operations={name: operations[name] for name in sorted(used)},
        hash="",
        external={each.name: each for each in external},
        warns_of_planes=warns_of_planes,
    )
    return _hashed(manifest)


def parse(data: bytes, *, subject: str = FILE_NAME) -> Manifest:
    """Read and verify a contract: format, hash of each row, uniqueness, completeness, hash of the whole (SPEC 3.7).

    Its bytes are those that `remit compile` writes, for the generator it names: a reviewer reads what is read here, and
    equal hashes are equal bytes (SPEC 13.4).
    A part that this format does not have, outside of the hashed rows, and a key that stands twice are refused: no
    hash covers the one, and a reviewer may read the other as it is not read here. DefinitionError(CONTRACT_MISMATCH)
    says what failed, and what to do.
    """
    try:
        form = json.loads(_text(subject, data), object_pairs_hook=partial(_object, subject))
        take(form)
        head = form["head"]
        if type(head["format"]) is not int or head["format"] != FORMAT:
            raise _broken(subject, f"has format {head['format']!r}; this version reads {FORMAT}")
        _check_parts(subject, form, _PARTS | ({_EXTERNAL} if form.get(_EXTERNAL) else set()))
        warns = head.get(_BOTH_PLANES) == _WARN
        _check_parts(subject, head, _HEAD_PARTS | ({_BOTH_PLANES} if warns else set()))
        manifest = Manifest(
            exposure=_checked_exposure(head["exposure"]),
            policies=tuple(head["policies"]),
            components=_unique(subject, form["components"], lambda block: str(block["type"])),
            capabilities=_unique(subject, form["capabilities"], _row_key),
            operations={
                name: _record(subject, block)
                for name, block in _unique(subject, form["operations"], lambda block: str(block["name"])).items()
            },
            hash=form["hash"],
            external={
                name: _external_record(subject, block)
                for name, block in _unique(subject, form.get(_EXTERNAL, []), lambda each: str(each["name"])).items()
            },
            warns_of_planes=warns,
        )
        _verify(subject, manifest)
        _check_written(subject, manifest.written_by(_generator_of(subject, form)), data)
    except KeyError as problem:
        raise _broken(subject, f"is no contract: the part {problem.args[0]!r} is missing") from problem
    except (ValueError, TypeError, AttributeError, RecursionError, NotJson) as problem:
        raise _broken(subject, f"is no contract: {_why(problem)}") from problem
    return manifest


def _verify(subject: str, manifest: Manifest) -> None:
    _check_rows(subject, manifest)
    _check_complete(subject, manifest)
    for name, row in manifest.components.items():
        _check_form(subject, name, misformed(row, COMPONENT))
    for (_, name), row in manifest.capabilities.items():
        _check_form(subject, name, misformed(row, CAPABILITY))
    _check_external(subject, manifest)
    _check_headless(manifest.components, manifest.capabilities, manifest.external.values())
    if not manifest.warns_of_planes:
        _check_planes(manifest.capabilities)
    if _hashed(manifest).hash != manifest.hash:
        raise _broken(subject, "the hash of the whole does not fit its rows")


def _text(subject: str, data: bytes) -> str:
    text = data.decode("utf-8")
    if text.startswith("\ufeff"):
        raise _broken(subject, "begins with a byte order mark, and is UTF-8 without one")
    return text


def _generator_of(subject: str, form: Mapping[str, Json]) -> str:
    generator = form["generator"]
    if not isinstance(generator, str) or generator != clean_line(generator, _GENERATOR_LIMIT) or not generator:
        raise _broken(subject, "names no generator in one plain line")
    return generator


def _check_written(subject: str, expected: bytes, data: bytes) -> None:
    if data == expected:
        return
    rule = "is not written as remit compile writes it"
    if data.replace(b"\r\n", b"\n") == expected:
        rule += f": its lines end in CRLF, as git makes them without `{FILE_NAME} -text` in .gitattributes"
    raise _broken(subject, rule)


def _why(problem: Exception) -> str:
    match problem:
        case json.JSONDecodeError():
            return f"it is no JSON, line {problem.lineno}"
        case NotJson():
            return f"it has {clean_line(problem.told, _TOLD_LIMIT)}"
        case UnicodeDecodeError():
            return "it is no UTF-8"
        case RecursionError():
            return "it is nested too deep"
        case _:
            return "a part of it has another form than this version writes"


def _object(subject: str, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    form = dict(pairs)
    if len(form) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _broken(subject, f"the key {q(twice)} stands twice in one object")
    return form


def _check_parts(subject: str, form: Mapping[str, Json], known: frozenset[str]) -> None:
    if unknown := sorted(set(form) - known):
        raise _broken(subject, f"has a part {q(unknown[0])}, which no contract of format {FORMAT} has")


def _record(subject: str, block: Block) -> OperationRecord:
    record = record_from_json(block)
    _check_parts(subject, block, frozenset(record.to_json()))  # the hash of the whole covers what was read, no more
    return record


def _external_record(subject: str, block: Block) -> ExternalRecord:
    record = external_from_json(block)
    _check_parts(subject, block, frozenset(record.to_json()))
    return record


def _row_key(block: Block) -> RowKey:
    return (str(block["component"]), str(block["id"]))


def _broken(subject: str, rule: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.CONTRACT_MISMATCH, subject, rule, do="remit compile; review; commit")


def _hash(form: Json) -> str:
    return "sha256:" + sha256_hex(canonical(form))


def _row(block: Block) -> Block:
    return {name: value for name, value in block.items() if name not in BESIDE}


def _row_hash(block: Block) -> str:
    return _hash(_row(block))


def _with_hash(block: Block) -> Block:
    own = cast(Block, take(block)[0])
    return {**own, "hash": _row_hash(own)}


def _hashed(manifest: Manifest) -> Manifest:
    return replace(manifest, hash=_hash(manifest._hashed()))


def _unique(subject: str, blocks: list[Block], key: Callable[[Block], KeyT]) -> dict[KeyT, Block]:
    found: dict[KeyT, Block] = {}
    for block in blocks:
        name = key(block)
        if name in found:
            raise _broken(subject, f"{name} stands twice")
        found[name] = block
    return found


def _generator() -> str:
    try:
        return f"remit {version('remit')}"
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "remit"


def _checked_exposure(exposure: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    checked: dict[str, tuple[str, ...]] = {}
    for door, texts in sorted(exposure.items()):
        if door not in (*DOORS, DERIVED):
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                "[tool.remit.exposure]",
                f"there is no door {door!r}",
                do=f"use {', '.join(DOORS)}, or {DERIVED}",
            )
        checked[door] = Patterns(texts).texts
    return checked


def _check_planes(capabilities: Mapping[RowKey, Block]) -> None:
    for rest in _on_both_planes(capabilities):
        raise DefinitionError(
            DefinitionCode.DUPLICATE_CAPABILITY,
            f"view:{rest}",
            f"the backend has an operation of the same name, domain:{rest}",
            do=RENAME,
        )


def _on_both_planes(capabilities: Mapping[RowKey, Block]) -> tuple[str, ...]:
    ids = {capability_id for _, capability_id in capabilities}
    rests = (id.removeprefix("view:") for id in ids if id.startswith("view:"))
    return tuple(sorted(rest for rest in rests if f"domain:{rest}" in ids))


def _check_headless(
    components: Mapping[str, Block], capabilities: Mapping[RowKey, Block], external: Iterable[ExternalRecord]
) -> None:
    """Without a view there are references, and the tools that an approved distribution declares (SPEC 10.8)."""
    of_distributions = {each for record in external for each in record.components}
    for (component, capability_id), block in sorted(capabilities.items()):
        headless = components[component].get("headless") is True and component not in of_distributions
        if headless and block["kind"] != Kind.REFERENCE.value:
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                capability_id,
                f"the component {component} is headless: it holds references, and this is an {block['kind']}",
                do="declare it in a component of a view, or let the backend list it",
            )


def _check_rows(subject: str, manifest: Manifest) -> None:
    for blocks in (manifest.components, manifest.capabilities):
        for key, block in cast("dict[object, Block]", blocks).items():
            if block.get("hash") != _row_hash(block):
                name = key if isinstance(key, str) else cast(RowKey, key)[1]
                raise _broken(subject, f"the hash of {name} does not fit its row")


def _check_form(subject: str, name: str, part: str | None) -> None:
    if part is not None:
        raise _broken(subject, f"is no contract: {part!r} of {q(name)} has another form than this version writes")


def _check_complete(subject: str, manifest: Manifest) -> None:
    listed = {
        (name, str(capability_id))
        for name, block in manifest.components.items()
        for capability_id in cast("list[Json]", block.get("capabilities") or [])
    }
    if odd := sorted(listed ^ set(manifest.capabilities)):
        raise _broken(subject, f"{odd[0][1]} is listed without a row, or has a row and is not listed")
    named = {str(block["operation"]) for block in manifest.capabilities.values() if "operation" in block}
    if missing := sorted(named ^ set(manifest.operations)):
        raise _broken(subject, f"the operation {missing[0]} is referenced and not recorded, or the other way round")


def _check_external(subject: str, manifest: Manifest) -> None:
    """Each distribution adds what is there, nobody else does, and it is what was approved (SPEC 13.5)."""
    owners: dict[str, str] = {}
    for name, record in manifest.external.items():
        for each in (*record.components, *record.extends):
            if each not in manifest.components:
                raise _broken(subject, f"the distribution {name} is said to add {each}, which has no row")
        for each in record.components:
            if owners.setdefault(each, name) != name:
                raise _broken(subject, f"{each} is said to come from two distributions")
        digest = digest_of(
            name,
            record.components,
            record.files,
            components=map(_row, manifest.components.values()),
            capabilities=map(_row, manifest.capabilities.values()),
        )
        if record.digest != digest:
            raise _broken(subject, f"the digest of the distribution {name} does not fit its rows")
        if record.approved != record.digest:
            raise _broken(subject, f"the distribution {name} is not what was approved of it")
