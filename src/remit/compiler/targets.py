"""One contract of several builds: what they share is listed once, what differs between them fails (SPEC 13.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from remit._base.boundary import Json
from remit._contract.external import ExternalRecord
from remit._contract.manifest import Block, Manifest, RowKey, assemble
from remit._contract.operation import OperationRecord
from remit.errors import CompileError, Finding

Places = Mapping[RowKey, str]
_WRITE = "one declaration that all of them import, or another name for one of the two"


class Joining:
    """Takes the contract of each target in turn; `contract` is that of them all.

    A capability, a component or an operation that two targets declare must be the same in both.
    """

    def __init__(self) -> None:
        self.offered: dict[str, OperationRecord] = {}
        self.places: dict[RowKey, str] = {}
        self._components: dict[str, Block] = {}
        self._capabilities: dict[RowKey, Block] = {}
        self._targets: dict[RowKey, list[str]] = {}
        self._operations: dict[str, OperationRecord] = {}
        self._external: dict[str, ExternalRecord] = {}
        self._owner: dict[str, str] = {}
        self._findings: list[Finding] = []

    def add(self, target: str, manifest: Manifest, places: Places, offered: Mapping[str, OperationRecord]) -> None:
        """Take one target: its own complete contract, where its capabilities stand, what its backends offer."""
        for key, block in manifest.capabilities.items():
            known = self._capabilities.setdefault(key, block)
            self._targets.setdefault(key, []).append(target)
            place = places.get(key)
            first = self.places.setdefault(key, place) if place is not None else None
            self._compare(target, key[1], (known, block), (first, place))
        for name, block in manifest.components.items():
            self._compare(target, name, (self._components.setdefault(name, block), block), (None, None))
        for name, record in manifest.operations.items():
            old = self._operations.setdefault(name, record)
            self._compare(target, f"domain:{name}", (old.to_json(), record.to_json()), (None, None))
        for name, added in manifest.external.items():
            # One digest is approved of it, so what it declares is the same; what builds upon it may be of one target.
            extends = {*added.extends, *self._external.get(name, added).extends}
            self._external[name] = replace(added, extends=tuple(sorted(extends)))
        for name, record in offered.items():
            self.offered.setdefault(name, record)

    def contract(
        self, *, exposure: Mapping[str, Iterable[str]], policies: Iterable[str], warns_of_planes: bool = False
    ) -> Manifest:
        """The contract of all targets, each capability with the targets it is in; CompileError where they differ."""
        if self._findings:
            raise CompileError(self._findings)
        return assemble(
            [_own(block) for block in self._components.values()],
            [{**_own(block), "targets": list[Json](self._targets[key])} for key, block in self._capabilities.items()],
            self._operations,
            exposure=exposure,
            policies=policies,
            external=self._external.values(),
            warns_of_planes=warns_of_planes,
        )

    def _compare(
        self, target: str, subject: str, blocks: tuple[Block, Block], places: tuple[str | None, str | None]
    ) -> None:
        owner = self._owner.setdefault(subject, target)
        old, new = blocks
        fields = sorted(name for name in {*old, *new} - {"hash"} if old.get(name) != new.get(name))
        if not fields:
            return
        first, place = places
        path, _, line = (place or "").rpartition(":")
        where = f", declared at {first} and here" if first is not None and first != place else ""
        found = f"{subject}: {', '.join(fields)} differs between the targets {owner} and {target}{where}"
        self._findings.append(Finding(path=path or None, line=int(line) if line else None, found=found, write=_WRITE))


def _own(block: Block) -> Block:
    return {name: value for name, value in block.items() if name != "hash"}
