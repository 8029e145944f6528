"""Which classes of this process come from installed distributions, and from which (SPEC 13.3, 13.5)."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from remit._contract.capability import Capability
from remit._contract.component import declaration_of
from remit._contract.distribution import Distribution, owner_of
from remit.compiler.external import Foreign, shown
from remit.compiler.live import Reach, loaded_classes, resolved
from remit.errors import Finding


@dataclass(slots=True, kw_only=True, eq=False)
class Met:
    """What was met beside the project: the distributions that declare, and classes that nobody installed.

    `reach` is the given one with the files of these distributions.
    """

    reach: Reach
    foreigns: list[Foreign] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True, kw_only=True, eq=False)
class _Found:
    distribution: Distribution
    components: set[str] = field(default_factory=set)
    extends: set[str] = field(default_factory=set)


def meet(reach: Reach, outside: frozenset[Path]) -> Met:
    """Look at every component class that is loaded; `outside` are files of `reach` that are no files of the project."""
    return _Meeting(reach, outside).run()


class _Meeting:
    def __init__(self, reach: Reach, outside: frozenset[Path]) -> None:
        self._reach = reach
        self._own = reach.files.keys() - outside
        self._owners: dict[Path, Distribution | None] = {}
        self._found: dict[str, _Found] = {}
        self._findings: list[Finding] = []

    def run(self) -> Met:
        for cls in loaded_classes():
            declaration = declaration_of(cls)
            if declaration is not None:
                for base in _sources(cls):
                    self._attribute(declaration.type, base, declares=base is cls)
        found = [self._found[name] for name in sorted(self._found)]
        files = dict(self._reach.files)
        for each in found:
            for file in _loaded_files():
                path = each.distribution.path_of(file)
                if path is not None:
                    files.setdefault(resolved(str(file)), shown(each.distribution, path))
        return Met(
            reach=replace(self._reach, files=files),
            foreigns=[
                Foreign(
                    name=each.distribution.name,
                    version=each.distribution.version,
                    components=tuple(sorted(each.components)),
                    extends=tuple(sorted(each.extends)),
                    files=each.distribution.files_digest,
                )
                for each in found
            ],
            findings=sorted(set(self._findings), key=str),
        )

    def _attribute(self, type_name: str, cls: type, *, declares: bool) -> None:
        file = _file_of(cls)
        if file is None or resolved(str(file)) in self._own or self._reach.is_below(file, cls.__module__):
            return
        if file not in self._owners:
            self._owners[file] = owner_of(file)
        owner = self._owners[file]
        if owner is None:
            told = type_name if declares else f"{type_name} inherits from {cls.__name__}, which"
            self._findings.append(
                Finding(
                    path=file.name,
                    found=f"{told} comes from a file that is neither in the project nor of an installed distribution",
                    write="it in the project, or install it",
                )
            )
            return
        found = self._found.setdefault(owner.name, _Found(distribution=owner))
        (found.components if declares else found.extends).add(type_name)


def _sources(cls: type) -> Iterator[type]:
    """The class itself, and every class above it that brings capabilities along."""
    for base in cls.__mro__:
        inside = base.__module__ == "remit" or base.__module__.startswith("remit.")
        if not inside and (base is cls or any(isinstance(value, Capability) for value in vars(base).values())):
            yield base


def _file_of(cls: type) -> Path | None:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return Path(file).absolute() if isinstance(file, str) else None


def _loaded_files() -> list[Path]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [Path(file).absolute() for file in files if isinstance(file, str)]
