"""One mount as the application asks for it, and what it may not ask for (SPEC 4.1)."""

import re
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from remit._contract.plan import Sealed
from remit._model.ids import is_instance
from remit._registry.state import Registration
from remit.errors import DefinitionCode, DefinitionError

OnDuplicate = Literal["reject", "replace"]

ORIGIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+@/-]{0,126}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One mount as the application asks for it."""

    component: object
    sealed: Sealed
    instance: str
    parent: Registration | None
    enabled: bool
    on_duplicate: OnDuplicate
    origin: str
    priority: int
    internal: object
    identity: bytes | None = None

    @property
    def place(self) -> str:
        """`type/instance`, for the operator."""
        return f"{self.sealed.type}/{self.instance}"


def check(wanted: Wanted) -> None:
    """Refuse what makes no sense, naming it: a wrong type is a TypeError, a wrong value a DefinitionError."""
    type = wanted.sealed.type
    if isinstance(wanted.priority, bool) or not isinstance(wanted.priority, int):
        raise TypeError("mount(priority=…) takes an integer; a larger one is listed earlier")
    if not isinstance(wanted.enabled, bool):
        raise TypeError("mount(enabled=…) takes True or False")
    if not isinstance(wanted.instance, str):
        raise TypeError(f"mount(…, instance) is the name of the occurrence, as text: write {str(wanted.instance)!r}")
    if not isinstance(wanted.origin, str):
        raise TypeError("mount(origin=…) is the name of the distribution that the component comes from, as text")
    if not is_instance(wanted.instance):
        _refuse(DefinitionCode.INVALID_ID, type, "an instance name is 1 to 128 characters of [A-Za-z0-9_-]")
    if wanted.on_duplicate not in ("reject", "replace"):
        rule = f"mount(on_duplicate=…) is 'reject' or 'replace', not {wanted.on_duplicate!r}"
        _refuse(DefinitionCode.INVALID_DEFINITION, type, rule)
    if not ORIGIN.fullmatch(wanted.origin):
        rule = "mount(origin=…) is 1 to 128 characters of [A-Za-z0-9._+@/-], a letter or digit at both ends"
        _refuse(DefinitionCode.INVALID_DEFINITION, type, rule)


def _refuse(code: DefinitionCode, subject: str, rule: str) -> NoReturn:
    raise DefinitionError(code, subject, rule)
