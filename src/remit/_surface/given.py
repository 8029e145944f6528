"""What an application gives to a surface, and what cannot be meant by it (SPEC 4.0)."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._confirmation.keys import ConfirmationKeys, refuse_lasting
from remit._confirmation.request import DecideFn
from remit._contract.authority import Authority
from remit._contract.manifest import RENAME
from remit._contract.options import DERIVED, DOORS
from remit._model.consumer import Principal
from remit._model.pattern import Patterns
from remit._policy.guard import Guard
from remit._policy.policy import Policy, methods_of
from remit._registry.entered import Within
from remit._registry.viewer import Narrowing
from remit._surface.viewers import PrincipalSource
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.catalogue import Catalogue
from remit.procedures.joined import JoinedCatalogue
from remit.store.parts import Parts as StoreParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the application gave to a surface."""

    authority: Authority
    principal: PrincipalSource
    host: object
    policies: tuple[Policy, ...]
    procedures: Catalogue | None
    exposure: Mapping[str, Iterable[str]] | None
    decide: DecideFn | None
    within: Within | None
    store: StoreParts
    clock: Clock
    limits: Limits
    guard: Guard | None = None
    keys: ConfirmationKeys | None = None


def policies_of(policies: object, whose: str = "Surface") -> tuple[Policy, ...]:
    """The policies as they stand; one alone, or what is no collection, is a TypeError, and each is judged."""
    if (
        isinstance(policies, Policy)
        or isinstance(policies, str | bytes | bytearray | Mapping)
        or not isinstance(policies, Iterable)
    ):
        raise wrong("policies", "several policies", policies, "write policies=[authenticated()]", whose)
    given = tuple(policies)
    for policy in given:
        methods_of(policy)
    return given


def procedures_of(procedures: object, whose: str = "Surface") -> Catalogue | None:
    """The catalogue, several joined into one, or None; what is neither is a TypeError (SPEC 10.1)."""
    if procedures is None or _is_catalogue(procedures):
        return cast("Catalogue | None", procedures)
    if not isinstance(procedures, Sequence) or not all(map(_is_catalogue, procedures)):
        do = "write procedures=Procedures(), or procedures=[backend, fleet]"
        raise wrong("procedures", "a catalogue of operations, or several", procedures, do, whose)
    return JoinedCatalogue(procedures)


def _is_catalogue(given: object) -> bool:
    return _has(given, "get", "names")


def check_given(given: Given) -> None:
    """Refuse at once what would fail at the first call, or never: a TypeError or DefinitionError that says what to do.

    The authority is judged before, the store where its parts are taken, the guard with its answers.
    """
    check_shared("Surface", given.limits, given.clock, given.decide)
    if not isinstance(given.principal, Principal | str):
        _check_source("principal", given.principal, "a Principal, its id, or a function that gives it")
    if callable(given.host) and not isinstance(given.host, type):
        _check_source("host", given.host, "the host's values, or a function that gives them")
    _check_keys(given)
    _check_within(given.within)
    _check_planes(given)
    check_required(given.authority, given.policies)


def check_shared(whose: str, limits: object, clock: object, decide: object) -> None:
    """What a gateway is given for its surfaces is judged when it is made, and names who was given it."""
    if not isinstance(limits, Limits):
        raise wrong("limits", "limits", limits, "write limits=Limits(…), with what shall differ", whose)
    if not _has(clock, "now", "monotonic", "call_later"):
        do = "leave clock= out, or give one with now, monotonic, call_later"
        raise wrong("clock", "a Clock", clock, do, whose)
    _check_decide(decide, whose)


def wrong(name: str, meant: str, found: object, do: str, whose: str = "Surface") -> TypeError:
    """The error for an argument of another type than can be meant."""
    what = f"the class {found.__name__}" if isinstance(found, type) else f"{type(found).__name__}"
    return TypeError(f"{whose}({name}=…) takes {meant}, not {what}\n  do  {do}")


def _has(given: object, *names: str) -> bool:
    return not isinstance(given, type) and all(callable(getattr(given, name, None)) for name in names)


def _takes(function: Callable[..., object], *arguments: object) -> bool:
    """Whether it can be called so; what has no signature to look at can."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _kind(given: object) -> str:
    return type(given).__name__


def _check_source(name: str, given: object, meant: str) -> None:
    if not callable(given) or isinstance(given, type):
        raise wrong(name, meant, given, f"write {name}=current_user, a function that {name}= asks for each call")
    if inspect.iscoroutinefunction(given) or not _takes(given):
        raise TypeError(
            f"Surface({name}=…) is asked for each call: a plain function without parameters"
            f"\n  do  write def current() -> …, and await before what it looks at"
        )


def _check_keys(given: Given) -> None:
    """The keys are keys, and where requests outlive the process, so do they (SPEC 7.1)."""
    if given.keys is None and given.store.durable:
        raise refuse_lasting("Surface(store=…)", 'Surface(…, keys=ConfirmationKeys("k1", {"k1": secret}))')
    if given.keys is not None and not isinstance(given.keys, ConfirmationKeys):
        raise wrong("keys", "keys by kid", given.keys, 'write keys=ConfirmationKeys("k1", {"k1": secret})')


def _check_decide(decide: object, whose: str) -> None:
    if decide is None:
        return
    if not callable(decide) or isinstance(decide, type) or not _takes(decide, None):
        found = "a function that takes something else" if callable(decide) else _kind(decide)
        raise TypeError(
            f"{whose}(decide=…) takes an async function of one request, not {found}"
            "\n  do  write async def decide(request: ConfirmationView) -> Approved | Denied | None"
        )


def _check_within(within: object) -> None:
    if within is None:
        return
    made = hasattr(within, "__enter__") and not isinstance(within, type)
    if made or not callable(within) or inspect.iscoroutinefunction(within) or not _takes(within):
        found = "one already made" if made else "a function of another kind" if callable(within) else _kind(within)
        raise TypeError(
            f"Surface(within=…) takes a function without parameters that makes a context manager, not {found}"
            "\n  do  write within=entered, where @contextmanager stands above def entered(): … and nothing calls it"
        )


def narrowing_of(given: Given) -> Narrowing:
    """The surface's own exposure beside the site's, which it only narrows."""
    doors = patterns_of(given.exposure)
    site = given.authority.exposure.derived
    if doors is None or DERIVED not in doors:
        return Narrowing(doors=doors, derived=(site,))
    own = doors.pop(DERIVED)
    return Narrowing(doors=doors or None, derived=(site, own))


def patterns_of(exposure: Mapping[str, Iterable[str]] | None) -> dict[str, Patterns] | None:
    """The patterns of each door, None where nothing narrows the site's; a door that does not exist is refused."""
    if exposure is None:
        return None
    if not isinstance(exposure, Mapping):
        raise wrong("exposure", "a mapping", exposure, 'write exposure={"mcp": ["view:devices.**"]}')
    for door in exposure:
        if door not in (*DOORS, DERIVED):  # a misspelt `embedded` would leave that door wide open
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                "Surface(exposure=…)",
                f"there is no door {door!r}",
                do=f"use {', '.join(DOORS)}, or {DERIVED}",
            )
    return {door: Patterns(patterns) for door, patterns in exposure.items()}


def _check_planes(given: Given) -> None:
    """The catalogue has no operation of the name of a view capability, unless the site is only told (SPEC 2.7)."""
    if given.authority.warns_of_planes:
        return
    for name in () if given.procedures is None else given.procedures.names():
        if f"view:{name}" in given.authority.capability_ids:
            raise DefinitionError(
                DefinitionCode.DUPLICATE_CAPABILITY,
                f"domain:{name}",
                f"the contract has a view capability of the same name, view:{name}",
                do=RENAME,
            )


def check_required(authority: Authority, policies: Iterable[Policy]) -> None:
    """Every policy that the contract names for all surfaces is there (SPEC 3.9)."""
    present = {policy.name for policy in policies}
    missing = [name for name in authority.policies if name not in present]
    if missing:
        raise DefinitionError(
            DefinitionCode.CONTRACT_MISMATCH,
            "surface",
            f"the contract says that every surface has the policy {missing[0]!r}; this one has not",
            do=f"add it to policies=[…], or take {missing[0]!r} out of [tool.remit] policies and compile",
        )
