"""What the listing of an operation says of itself, checked in one place for every catalogue (SPEC 10.2, 3.4)."""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from remit._base.limits import Limits
from remit._base.text import first_bad, first_paragraph
from remit._model.effects import DEFAULTS, EFFECTS_OF, Confirmation, Effect, Kind
from remit.errors import DefinitionCode, DefinitionError

ServerEffect: TypeAlias = Literal["server-query", "server-mutation", "external-side-effect", "destructive"]
ConfirmationName: TypeAlias = Literal["never", "optional", "required", "always"]

_LIMITS: Final = Limits()


def wrong(
    subject: str,
    rule: str,
    place: str,
    do: str | None = None,
    code: DefinitionCode = DefinitionCode.INVALID_DEFINITION,
) -> DefinitionError:
    """The error of a listing that cannot stand."""
    return DefinitionError(code, subject, rule, place=place, do=do)


def checked_effect(subject: str, place: str, effect: str) -> Effect:
    """The effect by its name; one that is no effect of a backend is a PLANE_VIOLATION."""
    allowed = [each.value for each in EFFECTS_OF[Kind.REFERENCE]]
    if effect not in allowed:
        raise wrong(
            subject,
            f"{effect!r} is no effect of a backend operation",
            place,
            f"use {', '.join(allowed)}",
            DefinitionCode.PLANE_VIOLATION,
        )
    return Effect(effect)


def checked_confirmation(subject: str, place: str, effect: Effect, written: str | None) -> Confirmation | None:
    """The level by its name, None for none; a listing may raise what the effect asks for, never lower it."""
    if written is None:
        return None
    levels = [level.value for level in Confirmation]
    if written not in levels:
        raise wrong(subject, f"confirmation={written!r} is no level", place, f"use {', '.join(levels)}")
    level, default = Confirmation(written), DEFAULTS[effect].confirmation
    if level.rank < default.rank:
        raise wrong(
            subject,
            f"confirmation={written!r} is below the default {default.value!r} of {effect.value}",
            place,
            'lower it at the reference, with reason="…"',
        )
    return level


def checked_description(subject: str, place: str, written: str | None, doc: str | None) -> str:
    """What an agent reads: what was written, else the first paragraph of `doc`; refused as SPEC 3.2 says."""
    text = first_paragraph(doc) if written is None else written
    if not text.strip():
        raise wrong(
            subject, "has no description", place, "write a docstring; its first paragraph is what an agent reads"
        )
    if (bad := first_bad(text)) is not None:
        raise wrong(subject, f"description holds the refused character {bad}", place)
    if len(text) > _LIMITS.capability_description:
        raise wrong(
            subject,
            f"description has {len(text)} characters; at most {_LIMITS.capability_description}",
            place,
            "shorten it",
            DefinitionCode.LIMIT_EXCEEDED,
        )
    return text


def is_description(text: str) -> bool:
    """Whether an agent may read a text as it stands."""
    return bool(text.strip()) and first_bad(text) is None and len(text) <= _LIMITS.capability_description


def checked_tags(subject: str, place: str, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags, sorted, each once."""
    names = None if isinstance(tags, str) else sorted(set(tags))
    if names is None or not all(isinstance(tag, str) and tag and first_bad(tag) is None for tag in names):
        raise wrong(subject, "tags= is a collection of names", place, 'write tags=("fleet",)')
    return tuple(names)
