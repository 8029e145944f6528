"""Do both passes agree? What only one of them saw is a finding (SPEC 13.3)."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Final

from remit.compiler.declared import DeclaredCapability, DeclaredComponent
from remit.errors import Finding

_UNREAD: Final = "plain `class` statements and decorators that stand in the source"


def differences(
    static: Iterable[DeclaredComponent], live: Iterable[DeclaredComponent], read: Iterable[str]
) -> list[Finding]:
    """Findings for every component, capability and field that differs; `read` are the paths of the module graph."""
    paths = set(read)
    written = {(each.path, each.name, each.type): each for each in static}
    loaded = {(each.path, each.name, each.type): each for each in live}
    findings: list[Finding] = []
    for key in sorted(loaded.keys() - written.keys()):
        findings.append(_unread(loaded[key], paths, {each[:2]: each[2] for each in written}))
    for key in sorted(written.keys() - loaded.keys()):
        each = written[key]
        if not any(other[:2] == key[:2] for other in loaded):
            findings.append(
                Finding(
                    path=each.path,
                    line=each.line,
                    found=f"{each.type} is in the source, but no such class was there after the import",
                    write="it where the import reaches it, unconditionally",
                )
            )
    for key in sorted(loaded.keys() & written.keys()):
        findings.extend(_component(written[key], loaded[key]))
    return findings


def _unread(each: DeclaredComponent, paths: set[str], types: Mapping[tuple[str, str], str]) -> Finding:
    known = types.get((each.path, each.name))
    if known is not None:
        found = f"{each.name} has the type {each.type} after the import, and {known} in the source"
    elif each.path in paths:
        found = f"{each.type} exists after the import, but the source does not show it"
    else:
        found = f"{each.type} was reached by an import that cannot be read"
    return Finding(path=each.path, line=each.line or None, found=found, write=_UNREAD)


def _component(written: DeclaredComponent, loaded: DeclaredComponent) -> list[Finding]:
    findings = [
        _differs(written.path, written.line, written.type, name, old, new)
        for name, old, new in (
            ("description", written.description, loaded.description),
            *((name, written.options.get(name), loaded.options.get(name)) for name in sorted(loaded.options)),
        )
        if old != new
    ]
    for attribute in sorted({*written.capabilities, *loaded.capabilities}):
        old, new = written.capabilities.get(attribute), loaded.capabilities.get(attribute)
        subject = f"{written.type}.{attribute}"
        if old is None or new is None:
            found = (
                f"{subject} is a capability after the import, but the source does not show it"
                if old is None
                else f"{subject} is a capability in the source, but not after the import"
            )
            line = (new.line if new is not None else 0) if old is None else old.line
            findings.append(Finding(path=written.path, line=line or written.line, found=found, write=_UNREAD))
        elif old != new:
            findings.append(_capability(written, subject, old, new))
    return findings


def _capability(written: DeclaredComponent, subject: str, old: DeclaredCapability, new: DeclaredCapability) -> Finding:
    for each in fields(old):
        before, after = getattr(old, each.name), getattr(new, each.name)
        if each.compare and before != after:
            if each.name == "options":
                name = next(name for name in sorted({*before, *after}) if before.get(name) != after.get(name))
                return _differs(old.path, old.line, subject, name, before.get(name), after.get(name))
            return _differs(old.path, old.line, subject, each.name, before, after)
    raise AssertionError("called for equal capabilities")


def _differs(path: str, line: int, subject: str, name: str, old: object, new: object) -> Finding:
    return Finding(
        path=path,
        line=line,
        found=f"{subject}: {name} is {_shown(new)} after the import, and {_shown(old)} in the source",
        write="the value where it is declared; nothing may change it later",
    )


def _shown(value: object) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 80 else text[:79] + "…"
