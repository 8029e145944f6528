"""From a live class to the rows of the contract; the compiler and the mount use this one function (SPEC 3.3, 3.8)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, cast

from remit._base.boundary import Json, take
from remit._contract.binding import heads, unbound
from remit._contract.capability import Capability, Method
from remit._contract.component import Declaration, check_untouched, declaration_of, described
from remit._contract.concurrency import concurrency_block, concurrency_of
from remit._contract.denied import allowed_block
from remit._contract.flow import check_steps_parameter, flow_block, flow_effect, steps_of
from remit._contract.handing import handing_block, handing_of
from remit._contract.marks import known_block, marks_of, untrusted_of
from remit._contract.operation import OperationRecord
from remit._contract.options import (
    LIMITS,
    Governed,
    Options,
    Place,
    checked_doors,
    checked_meta,
    checked_names,
    checked_policies,
    governed,
)
from remit._contract.plan import Handing, NamedPolicy, Template
from remit._contract.reference import Reference, checked_overridable
from remit._contract.retrying import check_may_retry, checked_retry, retry_block
from remit._contract.schemas import input_of, output_of
from remit._contract.template import template_of, with_record
from remit._model.effects import Audit, Confirmation, Effect, Fidelity, Kind, effective_confirmation, unsure
from remit._schema.derive import DerivedInput, DerivedOutput
from remit.errors import DefinitionError

POLICY_METHODS: Final = ("discover", "authorize", "review", "around")
SAID: Final = ("precondition", "redact")
"""Attached functions whose being there the row says: without them a call does, or shows, what it did not."""
_NOT_UNDER_OO: Final = "has no description, because Python ran with -OO and dropped docstrings"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapabilityRow:
    """One capability as the live class has it: the block of the contract, and what was derived on the way.

    `input` and `output` are None for references, whose procedure converts by itself; `input` is without the record,
    which `template` describes. The capability is held in a tuple
    because type checkers read a field of a descriptor's type as a descriptor.
    """

    attribute: str
    sealed: tuple[Capability]
    block: dict[str, Json]
    governed: Governed
    effect: Effect
    input: DerivedInput | None
    output: DerivedOutput | None
    operation: OperationRecord | None
    template: Template | None = None
    handing: Handing | None = None

    @property
    def capability(self) -> Capability:
        """The sealed capability."""
        return self.sealed[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComponentRows:
    """One component class: its own block and those of its capabilities."""

    declaration: Declaration
    block: dict[str, Json]
    capabilities: tuple[CapabilityRow, ...]


def rows_of(
    cls: type, operations: Mapping[str, OperationRecord], refused: Mapping[str, str] = MappingProxyType({})
) -> ComponentRows:
    """Compute the rows of a component class; `operations` are those of the catalogues, or those that were recorded;
    `refused` are names that a catalogue was meant to list and cannot, each with the reason.

    DefinitionError for what a declaration may not be; TypeError for what is no component class.
    """
    declaration = declaration_of(cls)
    if declaration is None:
        raise _no_component(cls)
    check_untouched(cls, declaration)
    if declaration.description is None:
        raise declaration.at.wrong(_NOT_UNDER_OO, do="run without -OO, or write description= at the class")
    namespace = {name: value for name, value in vars(cls).items() if not isinstance(value, Capability)}
    listed = _Listed(operations, refused)
    found: dict[str, CapabilityRow] = {}
    for attribute, capability in sorted(declaration.capabilities.items(), key=lambda each: bool(steps_of(each[1]))):
        steps = tuple(found[id] for id in steps_of(capability))  # flows come last, and no step is one
        found[capability.id] = _row(declaration, attribute, capability, namespace, listed, steps)
    rows = tuple(found[capability.id] for capability in declaration.capabilities.values())
    return ComponentRows(declaration=declaration, block=_component_block(declaration, rows), capabilities=rows)


def _no_component(cls: object) -> TypeError:
    if not isinstance(cls, type):
        return TypeError(f"{type(cls).__name__} is an instance\n  do  give the class")
    if hasattr(cls, "__remit_declaration__"):
        return TypeError(f'{cls.__name__} is abstract: it has no type\n  do  class {cls.__name__}(…, type="…")')
    return TypeError(f'{cls.__name__} is no Component\n  do  class {cls.__name__}(Component, type="…")')


def _component_block(declaration: Declaration, rows: tuple[CapabilityRow, ...]) -> dict[str, Json]:
    return {
        **({"headless": True} if declaration.headless else {}),
        **({"page": True} if declaration.page else {}),
        "type": declaration.type,
        "title": declaration.title,
        "description": declaration.description,
        "tags": list(declaration.tags),
        "doors": _sorted(declaration.doors),
        "policies": policies_block(declaration.policies),
        "capabilities": cast(Json, sorted(row.capability.id for row in rows)),
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """What catalogues list, and what they were meant to list and refused."""

    operations: Mapping[str, OperationRecord]
    refused: Mapping[str, str]

    def operation(self, reference: Reference) -> OperationRecord:
        """The operation that a reference names; DefinitionError when nobody lists it."""
        name, at = reference.operation, reference.at
        found = self.operations.get(name)
        if found is not None:
            return found
        if (reason := self.refused.get(name)) is not None:
            raise at.wrong(f"its catalogue cannot list this operation: {reason}", do="reference another, or none")
        known = ", ".join(sorted(self.operations)) or "none at all"
        raise at.wrong(
            "no catalogue lists this operation",
            do=f'list it: @backend.operation("{name}", …) at a function, or expose={{"{name}": …}} at a document',
            facts=(("listed", known),),
        )


def _row(
    declaration: Declaration,
    attribute: str,
    capability: Capability,
    namespace: Mapping[str, object],
    listed: "_Listed",
    steps: tuple[CapabilityRow, ...],
) -> CapabilityRow:
    try:
        if isinstance(capability, Reference):
            return _reference_row(declaration, attribute, capability, listed.operation(capability))
        return _method_row(declaration, attribute, cast("Method[object, ..., object]", capability), namespace, steps)
    except DefinitionError as problem:
        if problem.place is not None:
            raise
        raise DefinitionError(
            problem.code,
            problem.subject,
            problem.rule,
            place=capability.at.place,
            do=problem.do,
            facts=problem.facts,
        ) from problem.__cause__


def _method_row(
    declaration: Declaration,
    attribute: str,
    capability: "Method[object, ..., object]",
    namespace: Mapping[str, object],
    steps: tuple[CapabilityRow, ...],
) -> CapabilityRow:
    at, function, options = capability.at, capability.function, capability.options
    description = described(at, options.description, function.__doc__, LIMITS.capability_description)
    if description is None:
        raise at.wrong(_NOT_UNDER_OO, do="run without -OO, or write description=")
    template = template_of(capability, namespace)
    derived = input_of(function, options.input, namespace=namespace, subject=at.subject, record=options.record)
    output, schema = output_of(function, options.output, namespace=namespace, at=at)
    if capability.kind is Kind.OBSERVATION and schema is None:
        raise at.wrong("is an observation and declares no output type", do="annotate what it returns: `-> TableState`")
    check_steps_parameter(capability, derived.injected)
    effect = flow_effect(capability.effect, (step.effect for step in steps))
    level = governed(at, capability.effect, options)
    if steps:
        level = _worst(at, options, level, steps, effect)
    block = _block(declaration, capability, effect, level)
    block["description"] = description
    own = cast(Json, derived.schema)
    block["input"] = own if template is None else with_record(capability, derived.schema, template)
    if template is not None:
        block["record"] = template.parameter
    block |= handing_block(capability) | known_block(at, options)
    block["output"] = cast(Json, schema)
    block |= flow_block(capability, level)
    block |= marks_of(at, options, effect, level.confirmation, (own, own))
    block |= untrusted_of(at, options, block["output"], notes="note" in capability.attached)
    if declaration.page and block["output"] is not None:
        block["untrusted"] = True  # a page says it, whatever the author knows of it (SPEC 3.14)
    block |= allowed_block(at, options, own, block["output"])
    return CapabilityRow(
        attribute=attribute,
        sealed=(capability,),
        block=block,
        governed=level,
        effect=effect,
        input=derived,
        output=output,
        operation=None,
        template=template,
        handing=handing_of(capability),
    )


def _worst(at: Place, options: Options, own: Governed, steps: tuple[CapabilityRow, ...], effect: Effect) -> Governed:
    """The governance of a flow: at least the strictest of its steps, and nothing one of them is not (SPEC 11.8)."""
    for step in steps:
        level, id = Confirmation(str(step.block["confirmation"])), step.capability.id
        if options.confirmation is not None and own.confirmation.rank < level.rank:
            rule = f"confirmation={own.confirmation.value!r} is below {level.value!r} of its step {id}"
            raise at.wrong(rule, do="leave it out: it is at least that of the strictest step")
        if options.idempotent and not step.governed.idempotent:
            raise at.wrong(f"idempotent=True, and its step {id} is not", do="leave it out")
        if options.reversible and step.governed.reversible is False:
            raise at.wrong(f"reversible=True, and its step {id} is not", do="leave it out")
    audits, fidelities = tuple(Audit), tuple(Fidelity)
    fidelity = max((own.fidelity, *(step.governed.fidelity for step in steps)), key=fidelities.index)
    least = Confirmation.REQUIRED if unsure(effect, fidelity) else own.confirmation
    levels = (own.confirmation, least, *(Confirmation(str(step.block["confirmation"])) for step in steps))
    return Governed(
        idempotent=own.idempotent,
        reversible=own.reversible is not False and all(step.governed.reversible is not False for step in steps),
        confirmation=max(levels, key=lambda level: level.rank),
        audit=max((own.audit, *(step.governed.audit for step in steps)), key=audits.index),
        fidelity=fidelity,
    )


def _reference_row(
    declaration: Declaration, attribute: str, reference: Reference, operation: OperationRecord
) -> CapabilityRow:
    at = reference.at
    level = governed(at, operation.effect, reference.options, operation.confirmation)
    if reference.options.idempotent is None:
        level = replace(level, idempotent=operation.idempotent)
    check_may_retry(at, checked_retry(at, reference.options.retry), idempotent=level.idempotent)
    block = _block(declaration, reference, operation.effect, level)
    block["tags"] = cast(Json, sorted({*cast("list[str]", block["tags"]), *operation.tags}))
    block["description"] = reference.options.description or operation.description
    block["input"] = unbound(reference, operation.input_schema)
    block["output"] = cast(Json, operation.output_schema)
    block["operation"] = operation.name
    block["bound"] = cast(Json, sorted(reference.bindings))
    if overridable := checked_overridable(reference):
        block["overridable"] = list(overridable)
    schemas = (block["input"], cast(Json, operation.input_schema))
    bound = heads(reference.bindings)
    block |= marks_of(at, reference.options, operation.effect, level.confirmation, schemas, bound)
    block |= untrusted_of(at, reference.options, block["output"], notes="note" in reference.attached)
    block |= allowed_block(at, reference.options, block["input"], block["output"])
    block |= handing_block(reference) | known_block(at, reference.options)
    return CapabilityRow(
        attribute=attribute,
        sealed=(reference,),
        block=block,
        governed=level,
        effect=operation.effect,
        input=None,
        output=None,
        operation=operation,
        handing=handing_of(reference),
    )


def _block(declaration: Declaration, capability: Capability, effect: Effect, level: Governed) -> dict[str, Json]:
    at, options = capability.at, capability.options
    doors = checked_doors(at, options.doors)
    meta = checked_meta(at, options.meta)
    return {
        **{role: True for role in SAID if role in capability.attached},
        **({} if meta is None else {"meta": meta}),
        "id": capability.id,
        "component": declaration.type,
        "kind": capability.kind.value,
        "effect": effect.value,
        "title": options.title,
        "idempotent": level.idempotent,
        "reversible": level.reversible,
        "confirmation": effective_confirmation(effect, level.confirmation).value,
        "approver": options.approver,
        "audit": level.audit.value,
        "timeout": _number(options.timeout),
        "spend_time": _number(options.spend_time),
        "policies": policies_block(checked_policies(at, options.policies)),
        "tags": cast(Json, sorted({*declaration.tags, *checked_names(at, "tags", options.tags)})),
        "doors": _sorted(declaration.doors if doors is None else doors),
        "deprecated": options.deprecated,
        "reason": options.reason,
        "concurrency": concurrency_block(concurrency_of(capability)),
        "retry": retry_block(checked_retry(at, options.retry)),
    }


def policies_block(policies: tuple[NamedPolicy, ...]) -> list[Json]:
    """Name, class and methods of each policy, in the order in which they stand (SPEC 3.9).

    The class is its qualified name without the module: a file that is run and the same file imported are one.
    """
    return [
        {
            "name": policy.name,
            "class": type(policy).__qualname__,
            "methods": [method for method in POLICY_METHODS if callable(getattr(policy, method, None))],
        }
        for policy in policies
    ]


def _number(value: float | None) -> Json:
    return None if value is None else take(value)[0]


def _sorted(doors: frozenset[str] | None) -> Json:
    return None if doors is None else cast(Json, sorted(doors))
