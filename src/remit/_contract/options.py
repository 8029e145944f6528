"""What an author may write at a declaration besides code, and the rules it must keep (SPEC 3.2 to 3.4, 3.13)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from remit._base.boundary import Json, NotJson, TooLarge, take
from remit._base.limits import Limits
from remit._base.text import first_bad, first_bad_inside
from remit._contract.plan import NamedPolicy
from remit._model.effects import DEFAULTS, Audit, Confirmation, Effect, Fidelity, Source, unsure
from remit.errors import DefinitionCode, DefinitionError

Door: TypeAlias = Literal["embedded", "mcp", "webmcp", "page", "test"]
ConfirmationName: TypeAlias = Literal["never", "optional", "required", "always"]
AuditName: TypeAlias = Literal["none", "metadata", "full"]
FidelityName: TypeAlias = Literal["high", "medium", "low"]
SourceName: TypeAlias = Literal["declared", "derived"]

DOORS: Final[tuple[str, ...]] = get_args(Door)
DERIVED: Final = "derived"
"""Beside the doors in an exposure: which derived capabilities there are at all (SPEC 11.9)."""
LIMITS: Final = Limits()
_POLICY_NAME: Final = 128
_AUDIT_RANK: Final = {level: rank for rank, level in enumerate(Audit)}
_Member = TypeVar("_Member", Confirmation, Audit, Fidelity, Source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keywords of one declaration as they were written; nothing is judged before the class exists.

    `timeout` and `spend_time` are seconds; `reason` says why a level is below its default; `may_vary` and `sensitive`
    name fields of the input; `meta` is JSON that nothing here reads, `untrusted` says which output is from outside;
    `input` and `output` are JSON Schema instead of type hints; `record` names the parameter that is a row's id;
    `handoff` says why only a person may do it, and where; `source` who wrote it, `fidelity` how well it is known;
    `steps` are the ids of a flow's steps;
    `allow_names` says why a denied name is harmless.
    """

    name: str | None = None
    title: str | None = None
    description: str | None = None
    idempotent: bool | None = None
    reversible: bool | None = None
    confirmation: str | None = None
    approver: str | None = None
    audit: str | None = None
    timeout: float | None = None
    spend_time: float | None = None
    policies: Iterable[NamedPolicy] = ()
    tags: Iterable[str] = ()
    doors: Iterable[str] | None = None
    deprecated: bool = False
    reason: str | None = None
    may_vary: Iterable[str] = ()
    sensitive: Iterable[str] = ()
    overridable: Iterable[str] = ()
    concurrency: object = None
    blocking: bool = False
    retry: object = None
    meta: object = None
    untrusted: object = False
    record: str | None = None
    handoff: object = None
    source: str = Source.DECLARED.value
    fidelity: str | None = None
    steps: object = None
    input: object = None
    output: object = None
    allow_names: object = None


_NAMES: Final = tuple(each.name for each in fields(Options))


def written_options(given: Mapping[str, Any]) -> Options:
    """What was given to a declaring function, by the names of its keywords: those that are options, and no others.

    Dicts and lists are copied: what is declared does not change when they do (SPEC 3.8).
    """
    return Options(**{name: _own(given[name]) for name in _NAMES if name in given})


def _own(value: Any) -> Any:
    if type(value) is dict:
        return {key: _own(each) for key, each in value.items()}
    return [_own(each) for each in value] if type(value) is list else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is judged and where it stands; every refusal names both."""

    subject: str
    place: str | None

    def wrong(
        self,
        rule: str,
        *,
        do: str | None = None,
        code: DefinitionCode = DefinitionCode.INVALID_DEFINITION,
        facts: tuple[tuple[str, str], ...] = (),
    ) -> DefinitionError:
        """The error for a broken rule at this place."""
        return DefinitionError(code, self.subject, rule, place=self.place, do=do, facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """The effective governance of one capability: what was written over the defaults of its effect (SPEC 3.4)."""

    idempotent: bool
    reversible: bool | None
    confirmation: Confirmation
    audit: Audit
    fidelity: Fidelity = Fidelity.HIGH


def checked_text(at: Place, field: str, text: object, limit: int) -> str:
    """Return an author's fixed text: one line, not empty, within its limit, no refused character (SPEC 3.2)."""
    if not isinstance(text, str):
        raise at.wrong(f"{field}= is text, not {type(text).__name__}")
    if not text.strip():
        raise at.wrong(f"{field} is empty")
    if (bad := first_bad(text)) is not None:
        raise at.wrong(f"{field} holds the refused character {bad}", do="write plain text on one line")
    if len(text) > limit:
        raise at.wrong(
            f"{field} has {len(text)} characters; at most {limit}", code=DefinitionCode.LIMIT_EXCEEDED, do="shorten it"
        )
    return text


def checked_title(at: Place, title: object) -> str | None:
    """Return an optional title of at most 80 characters (SPEC 3.2)."""
    return None if title is None else checked_text(at, "title", title, LIMITS.title)


def checked_names(at: Place, field: str, values: object) -> tuple[str, ...]:
    """Return a collection of short names, sorted and unique; one text instead of a collection is refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise at.wrong(f"{field}= is a collection of names, not {values!r}", do=f"write {field}=({values!r},)")
    return tuple(sorted({checked_text(at, field, value, LIMITS.title) for value in values}))


def checked_meta(at: Place, value: object) -> dict[str, Json] | None:
    """Return a copy of an author's own JSON object, None for none; at most 2,048 bytes (SPEC 3.3, 17)."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise at.wrong(f"meta= is a dict of JSON, not {type(value).__name__}")
    try:
        own, _ = take(value, max_bytes=LIMITS.meta_bytes)
    except TooLarge:
        rule = f"meta has more than {LIMITS.meta_bytes:,} bytes"
        raise at.wrong(rule, code=DefinitionCode.LIMIT_EXCEEDED, do="shorten it") from None
    except NotJson as problem:
        raise at.wrong(f"meta is no JSON: {problem.told}") from None
    if (bad := first_bad_inside(own)) is not None:
        raise at.wrong(f"meta holds the refused character {bad}", do="write plain text on one line")
    return cast("dict[str, Json]", own)


def checked_doors(at: Place, doors: object) -> frozenset[str] | None:
    """Return the named doors, or None for the default (SPEC 3.13)."""
    if doors is None:
        return None
    names = checked_names(at, "doors", doors)
    if unknown := [name for name in names if name not in DOORS]:
        raise at.wrong(f"there is no door {unknown[0]!r}", do=f"use {', '.join(DOORS)}")
    return frozenset(names)


def checked_policies(at: Place, policies: object) -> tuple[NamedPolicy, ...]:
    """Return the policies in their order; each is an instance with a name of its own (SPEC 3.9)."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise at.wrong(f"policies= is a collection of policies, not {policies!r}")
    found: list[NamedPolicy] = []
    for policy in policies:
        name = None if isinstance(policy, type) else getattr(policy, "name", None)
        if not isinstance(name, str) or not name:
            raise at.wrong(f"{policy!r} is no policy", do='write for example policies=(require_grant("fleet"),)')
        if any(name == other.name for other in found):
            raise at.wrong(f"the policy {name!r} stands twice")
        checked_text(at, "the name of a policy", name, _POLICY_NAME)
        found.append(cast(NamedPolicy, policy))
    return tuple(found)


def checked_seconds(at: Place, field: str, value: object) -> float | None:
    """Return a positive, finite number of seconds, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise at.wrong(f"{field}= is a positive number of seconds")
    if value > LIMITS.call_max_s:
        raise at.wrong(f"{field}= is at most {LIMITS.call_max_s:g} seconds", code=DefinitionCode.LIMIT_EXCEEDED)
    return float(value)


def governed(at: Place, effect: Effect, options: Options, ceiling: Confirmation | None = None) -> Governed:
    """Lay what was written over the defaults of the effect and refuse what SPEC 3.4 refuses.

    Below a default a level needs `reason=`; below the floor of its effect, or below `ceiling` (what a backend says of
    its own operation), it is refused, and so is what asks nobody where the fidelity is below high (SPEC 11.9).
    """
    default = DEFAULTS[effect]
    fidelity = fidelity_of(at, options)
    least = Confirmation.REQUIRED if unsure(effect, fidelity) else Confirmation.NEVER
    usual = _highest(default.confirmation, ceiling, least)
    confirmation = _level(at, "confirmation", Confirmation, options.confirmation) or usual
    audit = _level(at, "audit", Audit, options.audit) or default.audit
    floor = _highest(default.floor, ceiling, least)
    if confirmation.rank < floor.rank:
        whose = f"what is {effect.value}" if floor is default.floor else "an operation whose backend says so"
        if floor is least and floor is not default.floor:
            whose = f"what is no read, and of {fidelity.value} fidelity,"
        raise at.wrong(f"confirmation={confirmation.value!r} is not allowed; {whose} is not below {floor.value!r}")
    lowered = confirmation.rank < usual.rank or _AUDIT_RANK[audit] < _AUDIT_RANK[default.audit]
    if lowered and options.reason is None:
        what = (
            f"confirmation={confirmation.value!r} is below the default {usual.value!r}"
            if confirmation.rank < usual.rank
            else f"audit={audit.value!r} is below the default {default.audit.value!r}"
        )
        raise at.wrong(f"{what} of {effect.value}", do='say why: reason="…"; reviewers read it')
    if options.reason is not None:
        checked_text(at, "reason", options.reason, LIMITS.capability_description)
        if not lowered:
            raise at.wrong("reason= says why a level is below its default, and none is", do="remove reason=")
    return Governed(
        idempotent=_flag(at, "idempotent", options.idempotent, default.idempotent),
        reversible=default.reversible
        if default.reversible is None
        else _flag(at, "reversible", options.reversible, default.reversible),
        confirmation=confirmation,
        audit=audit,
        fidelity=fidelity,
    )


def checked_source(at: Place, written: object) -> Source:
    """Return who wrote a declaration; any other word is refused (SPEC 11.9)."""
    return _level(at, "source", Source, written) or Source.DECLARED


def checked_fidelity(at: Place, written: object) -> Fidelity | None:
    """Return what was written, None for nothing; any other word is refused (SPEC 11.9)."""
    return _level(at, "fidelity", Fidelity, written)


def fidelity_of(at: Place, options: Options) -> Fidelity:
    """How well a declaration is known: as written, else low for what was derived and high for the rest (SPEC 11.9)."""
    usual = Fidelity.LOW if checked_source(at, options.source) is Source.DERIVED else Fidelity.HIGH
    return checked_fidelity(at, options.fidelity) or usual


def _highest(first: Confirmation, ceiling: Confirmation | None, least: Confirmation) -> Confirmation:
    return max((first, first if ceiling is None else ceiling, least), key=lambda level: level.rank)


def _level(at: Place, field: str, kind: type[_Member], written: object) -> _Member | None:
    if written is None:
        return None
    try:
        return kind(str(written))
    except ValueError:
        levels = ", ".join(level.value for level in kind)
        raise at.wrong(f"{field}={written!r} is no level", do=f"use {levels}") from None


def _flag(at: Place, field: str, written: object, default: bool) -> bool:
    if written is None:
        return default
    if not isinstance(written, bool):
        raise at.wrong(f"{field}= is True or False")
    return written
