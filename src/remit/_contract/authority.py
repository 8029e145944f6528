"""The contract in its verified, immutable run-time form (SPEC 3.7 to 3.9)."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self
from weakref import WeakKeyDictionary

from remit._contract.component import check_untouched, declaration_of
from remit._contract.development import handed_out
from remit._contract.distribution import Distribution
from remit._contract.external import as_approved, check_from
from remit._contract.files import contract_at, settings_of
from remit._contract.handed import Recorded, recorded_handoff
from remit._contract.manifest import FILE_NAME, Manifest, parse
from remit._contract.mismatch import check_recorded, not_recorded
from remit._contract.operation import OperationRecord
from remit._contract.options import DERIVED
from remit._contract.plan import Exposure, Sealed
from remit._contract.planning import sealed_of
from remit._contract.reference import Reference
from remit._contract.row import rows_of
from remit._model.effects import Effect, Source
from remit._model.pattern import Patterns

COMPILING: Final = "REMIT_COMPILE"
"""Set to 1 in the compiler's child process; there an authority is pending and reads nothing."""

_NOTHING: Final = Patterns(())


class Authority:
    """What may exist: loaded from a reviewed contract, verified, and never changed (SPEC 3.7).

    `hash` names the whole contract, `exposure` is what the site opens at network doors, `policies` are the names every
    surface must have, `operations` what was recorded of each referenced backend operation. A `pending` authority exists
    in the compiler's child only: it knows nothing, and no surface is made of it. One for `development` was handed over
    by `remit dev`; nobody has reviewed it, and a gateway serves it on loopback only.
    """

    __slots__ = (
        "__weakref__",
        "_development",
        "_exposure",
        "_home",
        "_installed",
        "_manifest",
        "_operations",
        "_sealed",
    )

    def __init__(self, manifest: Manifest | None, *, development: bool = False, home: Path | None = None) -> None:
        """Take a verified contract; applications use `load`, scripts `remit.compiler.compile_app`."""
        self._manifest = manifest
        self._home = home
        self._development = development
        opened = {} if manifest is None else {door: Patterns(texts) for door, texts in manifest.exposure.items()}
        derived = opened.pop(DERIVED, _NOTHING)
        self._exposure = Exposure(doors=MappingProxyType(opened), derived=derived)
        self._operations = MappingProxyType({} if manifest is None else dict(manifest.operations))
        self._installed: dict[str, Distribution] = {}
        # Weak: a class that a test or a reload drops takes its plans along.
        self._sealed: WeakKeyDictionary[type, Sealed] = WeakKeyDictionary()

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None, *, beside: str | None = None) -> Self:
        """Read and verify the contract: the file at `path`, or the one `beside=__file__`.

        `beside` looks in the folder of that file, then upwards to the first `pyproject.toml` with `[tool.remit]`.
        Below `remit dev` it is the development contract of this project instead (SPEC 13.7). FileNotFoundError: there
        is none; DefinitionError(CONTRACT_MISMATCH): it does not verify, or a `pyproject.toml` on the way cannot be
        read, and is not passed over; TypeError: neither or both were given; RuntimeError: a development contract in
        production. Inside the compiler's child nothing is read and the authority is pending.
        """
        given = beside if path is None else path
        if (path is None) == (beside is None) or not isinstance(given, str | os.PathLike):
            raise TypeError("Authority.load takes a path, or beside=\n  do  Authority.load(beside=__file__)")
        if os.environ.get(COMPILING) == "1":
            return cls(None)
        if beside is not None:
            folder, where = _beside(Path(beside)), f"beside {Path(beside).name}"
            file = None if folder is None else folder / FILE_NAME
            run = f"python {Path(beside).name}"
        else:
            file, where, run = Path(os.fspath(path or "")), f"at {os.fspath(path or '')}", "COMMAND"
        if file is not None and file.name == FILE_NAME and (handed := handed_out(file.parent)) is not None:
            return cls(parse(handed, subject="the development contract"), development=True, home=file.parent)
        manifest = None if file is None else contract_at(file)
        if manifest is None:
            do = f"remit compile     (while writing: remit dev -- {run})"
            raise FileNotFoundError(f"no {FILE_NAME} {where}\n  do  {do}")
        return cls(manifest, home=None if file is None else file.parent)

    @property
    def home(self) -> Path | None:
        """The folder of the project that it was loaded from; None for one that lies in no file."""
        return self._home

    @property
    def pending(self) -> bool:
        """True only inside the compiler's child process."""
        return self._manifest is None

    @property
    def development(self) -> bool:
        """True for a contract that `remit dev` handed over: refused in production, served on loopback only."""
        return self._development

    @property
    def hash(self) -> str:
        """`sha256:…` of the whole contract; empty while pending."""
        return "" if self._manifest is None else self._manifest.hash

    @property
    def exposure(self) -> Exposure:
        """What the site opens at each network door."""
        return self._exposure

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies every surface must have."""
        return () if self._manifest is None else self._manifest.policies

    @property
    def warns_of_planes(self) -> bool:
        """True where a name may stand on both planes, as the site has said; else it is refused (SPEC 2.7)."""
        return self._manifest is not None and self._manifest.warns_of_planes

    @property
    def capability_ids(self) -> frozenset[str]:
        """Every capability id of the contract."""
        return frozenset() if self._manifest is None else frozenset(id for _, id in self._manifest.capabilities)

    def handoff(self, capability_id: str) -> Recorded | None:
        """What the contract says of a handoff; None for an id that is none (SPEC 11.7)."""
        return None if self._manifest is None else recorded_handoff(self._manifest.capabilities, capability_id)

    def reach(self, door: str) -> dict[str, Effect]:
        """What the site opens at a network door, by id: named by a `doors=`, or without one by the exposure."""
        manifest = self._manifest
        if manifest is None:
            return {}
        opened = self._exposure.doors.get(door, _NOTHING)
        found: dict[str, Effect] = {}
        for (_, id), block in manifest.capabilities.items():
            if block.get("source") == Source.DERIVED.value and id not in self._exposure.derived:
                continue
            declared = block["doors"]
            if id in opened if declared is None else isinstance(declared, list) and door in declared:
                found[id] = Effect(str(block["effect"]))
        return found

    @property
    def operations(self) -> Mapping[str, OperationRecord]:
        """Every referenced backend operation as it was recorded, by its own name."""
        return self._operations

    def seal(self, cls: type) -> Sealed:
        """Verify a live component class against the contract and return its plans; computed once per class.

        DefinitionError(CONTRACT_MISMATCH) names the field that differs, of a class never compiled, edited since, or
        patched (SPEC 3.8). TypeError: no component class, an abstract one, or a pending authority.
        """
        manifest = self._manifest
        if manifest is None:
            raise TypeError("the authority is pending: the compiler is reading this program, nothing can be mounted")
        known = self._sealed.get(cls)
        declaration = declaration_of(cls)
        if known is not None and declaration is not None:
            check_untouched(cls, declaration)
            return known
        if declaration is not None:
            if declaration.type not in manifest.components:
                raise not_recorded(declaration.at)
            for capability in declaration.capabilities.values():
                if isinstance(capability, Reference) and capability.operation not in self._operations:
                    raise not_recorded(capability.at)
        rows = rows_of(cls, self._operations)
        check_recorded(rows, manifest)
        sealed = sealed_of(rows, self._origin(cls, rows.declaration.type, manifest))
        self._sealed[cls] = sealed
        return sealed

    def _origin(self, cls: type, type_name: str, manifest: Manifest) -> str | None:
        """The approved distribution that declares a type; every one it builds upon is installed as approved."""
        origin: str | None = None
        for name, record in manifest.external.items():
            declares = type_name in record.components
            if not declares and type_name not in record.extends:
                continue
            if name not in self._installed:
                self._installed[name] = as_approved(record)
            modules = [cls.__module__] if declares else [base.__module__ for base in cls.__mro__]
            check_from(self._installed[name], type_name, modules)
            origin = name if declares else origin
        return origin


def _beside(source: Path) -> Path | None:
    """The folder whose contract belongs to a source file, there or not: the nearest that holds one, or a project."""
    folder = source.absolute().parent
    for each in (folder, *folder.parents):
        pyproject = each / "pyproject.toml"
        subject = Path(os.path.relpath(pyproject, folder)).as_posix()
        if (each / FILE_NAME).exists() or settings_of(pyproject, subject) is not None:
            return each
    return None
