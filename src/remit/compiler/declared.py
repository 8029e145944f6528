"""What one pass saw declared. Both passes produce this form, and they must agree (SPEC 13.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, cast

from remit._base.text import first_paragraph
from remit._contract.capability import Capability, Method
from remit._contract.component import Declaration
from remit._contract.concurrency import Key, Parallel, concurrency_block
from remit._contract.handing import handoff_block
from remit._contract.options import Options
from remit._contract.reference import Reference
from remit._contract.retrying import retry_block
from remit._model.answers import Handoff
from remit._model.retry import Retry

# Everything an author may write but the policies: they are objects, and only the import pass sees them.
LITERAL_OPTIONS: Final = tuple(each.name for each in fields(Options) if each.name not in {"policies", "description"})
_SETS: Final = frozenset({"tags", "doors", "may_vary", "sensitive", "overridable", "untrusted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCapability:
    """One capability: what it is called, what it does, and every literal that was written at it.

    `parameters` are the method's own, without the instance; for a reference, the fields it binds. `redacts` says that a
    redactor is attached, `checks` that a precondition is. `line` and `path` are
    where it stands and take no part in comparisons.
    """

    name: str
    kind: str
    effect: str | None
    description: str | None
    parameters: tuple[str, ...]
    options: Mapping[str, object]
    redacts: bool = False
    checks: bool = False
    path: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredComponent:
    """One component class of one file."""

    path: str
    name: str
    type: str
    description: str
    options: Mapping[str, object]
    capabilities: Mapping[str, DeclaredCapability]
    line: int = field(default=0, compare=False)


def normal_option(name: str, value: object) -> object:
    """One spelling for one meaning: sets are sorted lists, empty tags are an empty list, settings are their block."""
    if isinstance(value, Key | Parallel):
        return concurrency_block(value)
    if isinstance(value, Retry):
        return retry_block(value)
    if isinstance(value, Handoff):
        return handoff_block(value)
    if name == "steps" and value is not None:
        return [str(each) for each in cast("list[object]", list(cast("tuple[object, ...]", value)))]
    if name in _SETS and value is not None and not isinstance(value, bool):
        return sorted({str(each) for each in cast("list[object]", list(cast("tuple[object, ...]", value)))})
    return value


def live_component(declaration: Declaration, path: str) -> DeclaredComponent:
    """The form of a live class; descriptions are read from the functions as they are now."""
    return DeclaredComponent(
        path=path,
        name=declaration.name,
        type=declaration.type,
        description=declaration.description or "",
        options={
            "title": declaration.title,
            "tags": list(declaration.tags),
            "doors": None if declaration.doors is None else sorted(declaration.doors),
            "headless": declaration.headless,
            "page": declaration.page,
        },
        capabilities={
            attribute: _live_capability(attribute, capability, path)
            for attribute, capability in declaration.capabilities.items()
        },
        line=_line(declaration.at.place, path),
    )


def _line(place: str | None, path: str) -> int:
    """The line of a place, which is a file's name and a line, when it stands in this file; else 0."""
    name, _, line = (place or "").rpartition(":")
    return int(line) if line.isdigit() and path.rpartition("/")[2] == name else 0


def _live_capability(attribute: str, capability: Capability, path: str) -> DeclaredCapability:
    options = capability.options
    description = options.description
    effect: str | None = None
    parameters: tuple[str, ...] = ()
    if isinstance(capability, Method):
        code = capability.function.__code__
        effect = capability.effect.value
        parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        if description is None:
            description = first_paragraph(capability.function.__doc__)
    elif isinstance(capability, Reference):
        parameters = tuple(sorted(capability.bindings))
    return DeclaredCapability(
        name=str(capability.id),
        kind=capability.kind.value,
        effect=effect,
        description=description,
        parameters=parameters,
        options={name: normal_option(name, getattr(options, name)) for name in LITERAL_OPTIONS},
        redacts="redact" in capability.attached,
        checks="precondition" in capability.attached,
        path=path,
        line=_line(capability.at.place, path),
    )
