"""`Component`: a class whose metadata is static and whose instances are live (SPEC 3.1)."""

import inspect
import sys
from abc import ABCMeta
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit._base.text import first_paragraph
from remit._contract.capability import Action, Capability, Method, place_of, place_of_caller
from remit._contract.concurrency import checked_concurrency
from remit._contract.flow import check_flow
from remit._contract.handing import check_handoff
from remit._contract.marks import checked_untrusted
from remit._contract.options import (
    LIMITS,
    Door,
    Options,
    Place,
    checked_doors,
    checked_meta,
    checked_names,
    checked_policies,
    checked_seconds,
    checked_text,
    checked_title,
    fidelity_of,
    governed,
)
from remit._contract.plan import NamedPolicy
from remit._contract.reference import Reference, checked_overridable
from remit._contract.retrying import check_may_retry, checked_retry
from remit._contract.schemas import check_schemas
from remit._contract.template import check_template
from remit._model.effects import Effect
from remit._model.ids import CapabilityId, capability_name, check_component_type, check_domain_id, view_id
from remit.errors import DefinitionCode, DefinitionError

_DECLARATION: Final = "__remit_declaration__"
NO_DOCSTRINGS: Final = sys.flags.optimize >= 2
_WRITE_DOCSTRING: Final = "write a docstring; its first paragraph is what an agent reads"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """What a component class declares, sealed when the class was created.

    `capabilities` maps the attribute to the sealed capability, in the order of declaration.
    """

    type: str
    name: str
    module: str
    title: str | None
    description: str | None
    tags: tuple[str, ...]
    doors: frozenset[str] | None
    policies: tuple[NamedPolicy, ...]
    capabilities: dict[str, Capability]
    at: Place
    headless: bool = False
    page: bool = False


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What a component is beside the usual, as it was written."""

    headless: object
    page: object

    def checked(self, at: Place) -> tuple[bool, bool]:
        """Both as booleans; what has no view is in no page."""
        if not isinstance(self.headless, bool):
            raise at.wrong("headless= is True or False")
        if not isinstance(self.page, bool):
            raise at.wrong("page= is True or False")
        if self.headless and self.page:
            raise at.wrong("is headless and page=True: what has no view is in no page", do="keep one")
        return self.headless, self.page


class _ComponentMeta(ABCMeta):
    """Refuses what would replace a sealed capability. Built on ABCMeta, so abstract mixins and generics fit."""

    # With it, checkers would accept any assignment to a component class.
    if not TYPE_CHECKING:  # pragma: no branch - only a checker takes the other way

        def __setattr__(cls, name, value):
            held = cls.__dict__.get(name)
            if value is not held:
                cls._refuse(name, held)
            super().__setattr__(name, value)

        def __delattr__(cls, name):
            cls._refuse(name, cls.__dict__.get(name))
            super().__delattr__(name)

        def _refuse(cls, name, held):
            inherited = held is None and any(isinstance(vars(b).get(name), Capability) for b in cls.__mro__)
            if isinstance(held, Capability) or inherited or name == _DECLARATION:
                raise DefinitionError(
                    DefinitionCode.INVALID_DEFINITION,
                    f"{cls.__name__}.{name}",
                    "a capability cannot be replaced or removed once its class exists",
                    place=place_of_caller(),
                    do="change the declaration in the class body, then compile",
                )


class Component(metaclass=_ComponentMeta):
    """The base of everything an agent may see: subclass it with `type="…"`, decorate methods, mount instances.

        class DevicesTable(Component, type="devices.table"):
            '''Table of devices that match the active filters.'''

    `type` is the stable name; without it a class is abstract: never mounted, its capabilities are inherited. `title`,
    `description` (else the docstring's first paragraph), `tags`, `doors` and `policies` hold for every capability of
    the class. A `headless` one has no view: it holds references, and is mounted like any other; other capabilities only
    where an approved distribution declares it (SPEC 10.8). With `page=True` a page in a browser may answer for it
    instead of its own methods; what it says is a claim, so all outputs count as untrusted (SPEC 11.17, 3.14).

    Everything is judged when the class is created: DefinitionError names what, where, why and what to do
    (SPEC 2.3, 3.1). Nothing undecorated is ever exposed; a dataclass may be a component, with slots too.
    """

    __slots__ = ("__weakref__",)

    def __init_subclass__(  # noqa: PLR0913 - one keyword a property of the class
        cls,
        /,
        *,
        type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        tags: Iterable[str] = (),
        doors: Iterable[Door] | None = None,
        policies: Iterable[NamedPolicy] = (),
        headless: bool = False,
        page: bool = False,
        **others: object,
    ) -> None:
        super().__init_subclass__(**others)
        earlier: Declaration | None = vars(cls).get(_DECLARATION)
        found = _collect(cls)
        if type is None and earlier is not None and (earlier.module, earlier.name) == (cls.__module__, cls.__name__):
            # `@dataclass(slots=True)` builds the class anew from the dict of the first: same declaration, same place.
            declaration: Declaration | None = _redeclared(cls, earlier, found)
        elif type is None:
            _check_abstract(cls, title, description, headless or page, found)
            declaration = None
        else:
            options = Options(title=title, description=description, tags=tags, doors=doors, policies=policies)
            declaration = _declare(cls, type, options, found, _Kinds(headless, page))
        _set(cls, _DECLARATION, declaration)


def declaration_of(cls: object) -> Declaration | None:
    """The declaration of a component class; None for an abstract one and for everything that is no component class."""
    if not isinstance(cls, _ComponentMeta):
        return None
    declared: Declaration | None = vars(cls).get(_DECLARATION)
    return declared


def check_untouched(cls: type, declaration: Declaration) -> None:
    """Refuse a class of which a sealed capability was replaced behind the guard of its metaclass (SPEC 3.8)."""
    own = vars(cls)
    for attribute, capability in declaration.capabilities.items():
        if own.get(attribute) is not capability:
            raise DefinitionError(
                DefinitionCode.CONTRACT_MISMATCH,
                f"{declaration.type}.{attribute}",
                "the capability was replaced after its class was created",
                place=declaration.at.place,
                do="remove the patch, or change the declaration and compile",
            )


def _set(cls: type, name: str, value: object) -> None:
    type.__setattr__(cls, name, value)


def _collect(cls: type) -> dict[str, Capability]:
    """Every capability the class has, its own over inherited ones; a plain attribute over a capability is refused."""
    found: dict[str, Capability] = {}
    for base in reversed(cls.__mro__):
        for attribute, value in vars(base).items():
            if isinstance(value, Capability):
                found[attribute] = value
            elif attribute in found and attribute != _DECLARATION:
                raise DefinitionError(
                    DefinitionCode.INVALID_DEFINITION,
                    f"{cls.__name__}.{attribute}",
                    f"a plain attribute of {base.__name__} hides the capability {attribute!r}",
                    place=place_of_caller(),
                    do="decorate it as well, or give it another name",
                )
    return found


def _check_abstract(
    cls: type, title: object, description: object, special: object, found: dict[str, Capability]
) -> None:
    if title is not None or description is not None or special:
        raise DefinitionError(
            DefinitionCode.INVALID_DEFINITION,
            cls.__name__,
            "a class without `type=` is abstract and has neither title nor description, is not headless, nor page=True",
            place=place_of_caller(),
            do='give the class type="…"',
        )
    for capability in found.values():
        _check_names(capability)


def _declare(cls: type, type_name: str, options: Options, found: dict[str, Capability], kinds: "_Kinds") -> Declaration:
    place = place_of_caller()
    at = Place(subject=check_component_type(type_name, place=place), place=place)
    headless, page = kinds.checked(at)
    return Declaration(
        type=type_name,
        name=cls.__name__,
        module=cls.__module__,
        title=checked_title(at, options.title),
        description=described(at, options.description, vars(cls).get("__doc__"), LIMITS.component_description),
        tags=checked_names(at, "tags", options.tags),
        doors=checked_doors(at, options.doors),
        policies=checked_policies(at, options.policies),
        capabilities=_without_view(_seal(cls, type_name, found)) if headless else _seal(cls, type_name, found),
        at=at,
        headless=headless,
        page=page,
    )


def _without_view(capabilities: dict[str, Capability]) -> dict[str, Capability]:
    """What has no view navigates nowhere; whose tools it may hold is judged with the contract (SPEC 10.8)."""
    for capability in capabilities.values():
        if isinstance(capability, Method) and capability.effect is Effect.NAVIGATION:
            raise capability.at.wrong(
                "navigates, and its component is headless: it has no view", do="declare it in a component of a view"
            )
    return capabilities


def _redeclared(cls: type, earlier: Declaration, found: dict[str, Capability]) -> Declaration:
    return Declaration(
        type=earlier.type,
        name=earlier.name,
        module=earlier.module,
        title=earlier.title,
        description=earlier.description,
        tags=earlier.tags,
        doors=earlier.doors,
        policies=earlier.policies,
        capabilities=_seal(cls, earlier.type, found),
        at=earlier.at,
        headless=earlier.headless,
        page=earlier.page,
    )


def described(at: Place, written: object, doc: object, limit: int) -> str | None:
    """What `description=` says, else the docstring's first paragraph; None only where Python strips docstrings."""
    if written is not None:
        return checked_text(at, "description", written, limit)
    text = first_paragraph(doc) if isinstance(doc, str) else ""
    if text:
        return checked_text(at, "description", text, limit)
    if NO_DOCSTRINGS:
        return None
    raise at.wrong("has no description", do=_WRITE_DOCSTRING)


def _seal(cls: type, type_name: str, found: dict[str, Capability]) -> dict[str, Capability]:
    sealed: dict[str, Capability] = {}
    taken: dict[str, str] = {}
    for attribute, capability in found.items():
        _check_names(capability)
        capability_id, subject = _identify(type_name, attribute, capability)
        if capability_id in taken:
            raise DefinitionError(
                DefinitionCode.DUPLICATE_CAPABILITY,
                subject,
                f"{taken[capability_id]} and {attribute} declare one capability",
                place=capability.at.place,
                do="rename one, or give it name=",
            )
        taken[capability_id] = attribute
        own = capability.sealed(cls, capability_id, subject)
        if own is not vars(cls).get(attribute):
            _set(cls, attribute, own)
        _judge(own)
        sealed[attribute] = own
    by_id: dict[str, Capability] = {capability.id: capability for capability in sealed.values()}
    for capability in sealed.values():
        check_flow(capability, by_id)
    return sealed


def _check_names(capability: Capability) -> None:
    if len(capability.names) > 1:
        raise capability.at.wrong(
            f"has two attribute names: {', '.join(capability.names)}", do="declare each capability once"
        )


def _identify(type_name: str, attribute: str, capability: Capability) -> tuple[CapabilityId, str]:
    place = capability.at.place
    if isinstance(capability, Reference):
        target = check_domain_id(capability.target, place=place)
        return target, target
    name = capability.options.name if capability.options.name is not None else capability_name(attribute)
    return view_id(type_name, name if isinstance(name, str) else repr(name), place=place), f"{type_name}.{name}"


def _judge(capability: Capability) -> None:
    """Everything about one capability that needs neither schemas nor a catalogue."""
    at, options = capability.at, capability.options
    checked_title(at, options.title)
    checked_names(at, "tags", options.tags)
    checked_names(at, "may_vary", options.may_vary)
    checked_names(at, "sensitive", options.sensitive)
    checked_doors(at, options.doors)
    checked_policies(at, options.policies)
    checked_seconds(at, "timeout", options.timeout)
    checked_seconds(at, "spend_time", options.spend_time)
    if options.approver is not None:
        checked_text(at, "approver", options.approver, LIMITS.title)
    if not isinstance(options.deprecated, bool):
        raise at.wrong("deprecated= is True or False")
    checked_concurrency(at, options.concurrency)
    checked_meta(at, options.meta)
    checked_untrusted(at, options.untrusted)
    retry = checked_retry(at, options.retry)
    if isinstance(capability, Method):
        check_may_retry(at, retry, idempotent=governed(at, capability.effect, options).idempotent)
        _check_blocking(at, capability)
        described(at, options.description, capability.function.__doc__, LIMITS.capability_description)
        _check_signature(at, capability)
        check_template(capability)
        check_schemas(at, options)
    elif options.description is not None:
        checked_text(at, "description", options.description, LIMITS.capability_description)
    if isinstance(capability, Reference):
        checked_overridable(capability)
    fidelity_of(at, options)
    check_handoff(capability)


def _check_blocking(at: Place, capability: "Method[object, ..., object]") -> None:
    blocking = capability.options.blocking
    if not isinstance(blocking, bool):
        raise at.wrong("blocking= is True or False")
    if blocking and inspect.iscoroutinefunction(capability.function):
        raise at.wrong("is async and blocking=True, which is for plain methods", do="write `def`, or no blocking=")


def _check_signature(at: Place, capability: "Method[object, ..., object]") -> None:
    function = capability.function
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise at.wrong("is a generator", do="return a list")
    parameters = dict(inspect.signature(function).parameters)
    names = list(parameters)
    if not names:
        raise at.wrong("takes no instance", do="write `self` as the first parameter")
    precondition = capability.attached.get("precondition") if isinstance(capability, Action) else None
    if precondition is None:
        return
    for parameter in list(inspect.signature(precondition).parameters.values())[1:]:
        if parameter.name not in names[1:] and parameter.kind is not parameter.VAR_KEYWORD:
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                at.subject,
                f"its precondition takes {parameter.name!r}, which the action does not",
                place=place_of(precondition) if inspect.isfunction(precondition) else at.place,
                do=f"use the action's own names: {', '.join(names[1:]) or '(none)'}",
            )
