"""What a change of one field of the contract means for those who sign it (SPEC 13.6).

One rule a field, in one table; a field without a rule counts as widening and breaking, so that a new field of the
contract cannot pass unweighed.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, cast

from remit._base.boundary import Json
from remit._base.limits import Limits
from remit._model.effects import Audit, Confirmation, Effect, Fidelity, Source
from remit._schema.difference import At, Difference


class Drift(StrEnum):
    """What a change means: an agent may do more, a call that worked fails, an agent may do less, or neither."""

    WIDENING = "widening"
    BREAKING = "breaking"
    NARROWING = "narrowing"
    NEUTRAL = "neutral"


Classes = frozenset[Drift]
Rule = Callable[[Json, Json], Classes]

NEUTRAL: Final[Classes] = frozenset({Drift.NEUTRAL})
WIDENING: Final[Classes] = frozenset({Drift.WIDENING})
NARROWING: Final[Classes] = frozenset({Drift.NARROWING})
BREAKING: Final[Classes] = frozenset({Drift.BREAKING})
UNKNOWN: Final[Classes] = frozenset({Drift.WIDENING, Drift.BREAKING})

_AUDITS: Final = tuple(Audit)
_FIDELITIES: Final = tuple(Fidelity)


def weigh(field: str, before: Json, after: Json) -> Classes:
    """The classes of one changed field of a capability, a component, an operation or the head; schemas stand apart.

    What a rule cannot read, for a contract may be made by hand, is unweighed too.
    """
    try:
        return RULES.get(field, _unknown)(before, after)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return UNKNOWN


def weigh_input(difference: Difference) -> Classes:
    """The class of one place of an input: looser is widening, what was valid and no longer is is breaking."""
    return _either(difference.looser, WIDENING) | _either(difference.tighter, BREAKING) or NEUTRAL


def weigh_output(difference: Difference) -> Classes:
    """The class of one place of an output: what discloses more is widening, a field that is gone is breaking."""
    match difference.at:
        case At.ADDED:
            return WIDENING
        case At.GONE | At.OPTIONAL:
            return BREAKING
        case At.REQUIRED:
            return NARROWING
        case At.KEYS:
            return WIDENING if difference.looser else NARROWING
        case At.WORDS:
            return NEUTRAL
        case At.VALUE:
            narrower = difference.tighter and not difference.looser
            found = _either(difference.looser, WIDENING) | _either(difference.disjoint, BREAKING)
            return found | _either(narrower, NARROWING) or NEUTRAL


def weigh_presence(before: Json, after: Json, *, output: bool) -> Classes:
    """The class of a whole schema that came or went: none is no promise at all."""
    if not output:
        return UNKNOWN
    return NARROWING if before is None else UNKNOWN


def weigh_approval(before: str | None, after: str | None) -> Classes:
    """The class of another approval of a dependency, by the digests of its files; None where its rows alone count.

    Other files under the same name are other code, which nobody here has read. Its rows are weighed by themselves.
    """
    if before == after:
        return NEUTRAL
    return NARROWING if before is None else WIDENING


def _either(holds: bool, classes: Classes) -> Classes:
    return classes if holds else frozenset()


def _unknown(_before: Json, _after: Json) -> Classes:
    return UNKNOWN


def _neutral(_before: Json, _after: Json) -> Classes:
    return NEUTRAL


def _set(before: Json, after: Json, *, more: Classes, fewer: Classes) -> Classes:
    olds, news = _members(before), _members(after)
    return _either(bool(news - olds), more) | _either(bool(olds - news), fewer) or NEUTRAL


def _members(value: Json) -> frozenset[str]:
    return frozenset(str(each) for each in value) if isinstance(value, list) else frozenset()


def _more_is_wider(before: Json, after: Json) -> Classes:
    return _set(before, after, more=WIDENING, fewer=NARROWING)


def _fewer_is_wider(before: Json, after: Json) -> Classes:
    return _set(before, after, more=NARROWING, fewer=WIDENING)


def _true_is_wider(_before: Json, after: Json) -> Classes:
    return WIDENING if after is True else NARROWING


def _true_is_narrower(_before: Json, after: Json) -> Classes:
    return NARROWING if after else WIDENING


def _effect(before: Json, after: Json) -> Classes:
    """Lower is wider; across the line between reading and writing both directions are, for either misleads somebody."""
    old, new = Effect(str(before)), Effect(str(after))
    crosses = old.reads_only != new.reads_only
    return WIDENING if crosses or new.rank < old.rank else NARROWING


def _confirmation(before: Json, after: Json) -> Classes:
    if before is None or after is None:  # what a backend says of its own operation: nothing, or a level
        return WIDENING if after is None else NARROWING
    return WIDENING if Confirmation(str(after)).rank < Confirmation(str(before)).rank else NARROWING


def _approver(before: Json, _after: Json) -> Classes:
    """From the principal to a grant is stricter; other people, or the principal again, are not for us to judge."""
    return NARROWING if before is None else WIDENING


def _audit(before: Json, after: Json) -> Classes:
    lower = _AUDITS.index(Audit(str(after))) < _AUDITS.index(Audit(str(before)))
    return WIDENING if lower else NARROWING


def _spend_time(before: Json, after: Json) -> Classes:
    usual = Limits().spend_s
    return WIDENING if _number(after, usual) > _number(before, usual) else NARROWING


def _number(value: Json, usual: float) -> float:
    return value if isinstance(value, int | float) else usual


def _concurrency(before: Json, after: Json) -> Classes:
    """More side by side is wider; so is another key, for what took turns with the old one does no longer."""
    return WIDENING if _at_once(after) >= _at_once(before) else NARROWING


def _at_once(turns: Json) -> float:
    match turns:
        case {"parallel": int(places)}:
            return 1 + places
        case "capability":
            return 2
        case "instance":
            return 1
        case None:
            return math.inf
        case _:
            return 0


def _retry(before: Json, after: Json) -> Classes:
    """More attempts are wider; pauses are nobody's permission."""
    olds, news = _attempts(before), _attempts(after)
    return _either(news > olds, WIDENING) | _either(news < olds, NARROWING) or NEUTRAL


def _attempts(retry: Json) -> float:
    return _number(retry["attempts"], 1) if isinstance(retry, dict) else 1


def _record(before: Json, after: Json) -> Classes:
    """Without a record an action is no longer held to the rows that may be reached; with another one it means others.

    What an id may be is a place of the input, and weighed there.
    """
    return NARROWING if before is None else WIDENING if after is None else UNKNOWN


def _handoff(before: Json, after: Json) -> Classes:
    """Without a handoff an agent runs what only a person did; with one it does less.

    Another place sends people elsewhere, which nobody has looked at; another reason is words.
    """
    if before is None or after is None:
        return WIDENING if after is None else NARROWING
    old, new = (each.get("to") if isinstance(each, dict) else None for each in (before, after))
    return NEUTRAL if old == new else WIDENING


def _composite(before: Json, after: Json) -> Classes:
    """An action that becomes a flow runs other capabilities; one that is none any more does what its own code does."""
    return UNKNOWN


def _steps(before: Json, after: Json) -> Classes:
    """More steps do more, fewer do less; another order does what nobody has looked at."""
    if not isinstance(before, list) or not isinstance(after, list):
        return UNKNOWN
    olds, news = Counter(map(str, before)), Counter(map(str, after))
    more, fewer = bool(news - olds), bool(olds - news)
    return _either(more or not fewer, WIDENING) | _either(fewer, NARROWING)


def _untrusted(before: Json, after: Json) -> Classes:
    """A mark that is lost is wider: text from outside passes as the application's own (SPEC 3.14)."""
    if before is True or after is True:
        return NARROWING if after is True else WIDENING
    return _fewer_is_wider(before, after)


def _fidelity(before: Json, after: Json) -> Classes:
    """Raised, fewer people look at what a call does; none means high (SPEC 11.9)."""
    old, new = (_FIDELITIES.index(Fidelity(str(each or Fidelity.HIGH.value))) for each in (before, after))
    return WIDENING if new < old else NARROWING


def _source(_before: Json, after: Json) -> Classes:
    """What is derived is hidden unless the site exposes it; once it counts as declared, it is no longer (SPEC 11.9)."""
    return NARROWING if after == Source.DERIVED.value else WIDENING


def _allowed_names(before: Json, after: Json) -> Classes:
    """A denied name that is allowed is wider; another reason for it is words (SPEC 11.10)."""
    olds, news = (frozenset(each) if isinstance(each, dict) else frozenset[str]() for each in (before, after))
    return _either(bool(news - olds), WIDENING) | _either(bool(olds - news), NARROWING) or NEUTRAL


def _targets(before: Json, after: Json) -> Classes:
    """One build more is wider; whether a contract names its builds at all is nobody's permission."""
    return NEUTRAL if before is None or after is None else _more_is_wider(before, after)


def _policies(before: Json, after: Json) -> Classes:
    """A policy or a method of one that is lost is wider; so is another class under the same name, which is unread."""
    olds, news = _by_name(before), _by_name(after)
    found: Classes = _either(bool(news.keys() - olds.keys()), NARROWING) | _either(
        bool(olds.keys() - news.keys()), WIDENING
    )
    for name in olds.keys() & news.keys():
        old, new = olds[name], news[name]
        if old["class"] != new["class"]:
            found |= WIDENING
        methods = _fewer_is_wider(old["methods"], new["methods"])
        found |= methods - NEUTRAL
    return found or NEUTRAL


def _both_planes(before: Json, after: Json) -> Classes:
    """What no name could do is told of only: two capabilities may be taken for one another (SPEC 2.7)."""
    return WIDENING if after == "warn" else NARROWING


def _by_name(policies: Json) -> dict[str, dict[str, Json]]:
    return {str(each["name"]): each for each in cast("list[dict[str, Json]]", policies)}


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "title": _neutral,
        "description": _neutral,
        "tags": _neutral,
        "deprecated": _neutral,
        "reason": _neutral,
        "timeout": _neutral,
        "kind": _unknown,
        "operation": _unknown,
        "request": _unknown,
        "effect": _effect,
        "idempotent": _true_is_wider,
        "reversible": _true_is_wider,
        "confirmation": _confirmation,
        "approver": _approver,
        "spend_time": _spend_time,
        "audit": _audit,
        "concurrency": _concurrency,
        "retry": _retry,
        "policies": _policies,
        "required policies": _fewer_is_wider,
        "both_planes": _both_planes,
        "bound": _fewer_is_wider,
        "overridable": _more_is_wider,
        "may_vary": _more_is_wider,
        "sensitive": _fewer_is_wider,
        "redact": _true_is_narrower,
        "precondition": _true_is_narrower,
        "record": _record,
        "handoff": _handoff,
        "composite": _composite,
        "steps": _steps,
        "untrusted": _untrusted,
        "fidelity": _fidelity,
        "source": _source,
        "meta": _neutral,
        "allow_names": _allowed_names,
        "headless": _true_is_wider,
        "page": _true_is_wider,
        "targets": _targets,
    }
)
"""Fields by name. Doors and exposure are weighed door by door, schemas place by place."""
