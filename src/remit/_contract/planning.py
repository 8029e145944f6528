"""From verified rows to plans: everything fixed for a capability, built once per class and authority."""

import inspect
from collections.abc import Callable, Mapping
from typing import cast

from remit._base.boundary import Json, take
from remit._base.nested import steps_of
from remit._contract.binding import field_schema
from remit._contract.capability import Action, Capability, Method
from remit._contract.component import Declaration
from remit._contract.concurrency import concurrency_of, turn_of
from remit._contract.flow import Flow
from remit._contract.flow import steps_of as flow_steps
from remit._contract.options import checked_policies, checked_source
from remit._contract.plan import Binding, Composite, Plan, Role, Sealed
from remit._contract.retrying import checked_retry
from remit._contract.row import CapabilityRow, ComponentRows
from remit._model.answering import Answered
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation
from remit._model.record import kind_of
from remit._schema.derive import OutputRefused
from remit._schema.validate import Validator


def sealed_of(rows: ComponentRows, origin: str | None = None) -> Sealed:
    """Build what a mount needs of a class whose rows equal the contract; `origin` is the distribution it is from."""
    declaration = rows.declaration
    plans: dict[str, Plan] = {}
    for row in sorted(rows.capabilities, key=lambda row: bool(flow_steps(row.capability))):  # flows hold their steps
        plans[row.capability.id] = _plan(declaration, row, plans)
    return Sealed(
        type=declaration.type,
        title=declaration.title,
        description=declaration.description or "",
        policies=declaration.policies,
        plans=tuple(plans[row.capability.id] for row in rows.capabilities),
        origin=origin,
        headless=declaration.headless,
        page=declaration.page,
    )


def _plan(declaration: Declaration, row: CapabilityRow, plans: Mapping[str, Plan]) -> Plan:
    capability, block = row.capability, row.block
    descriptor = _descriptor(declaration, row)
    agent_schema = cast("Mapping[str, Json]", descriptor.own_schema)
    agent_input = Validator(agent_schema)
    output = block["output"]
    operation = row.operation
    handler = capability.function if isinstance(capability, Method) else None
    timeout, spend = capability.options.timeout, capability.options.spend_time
    doors = block["doors"]
    # A flow's own code stays here, and runs steps that the page answers for.
    page = declaration.page and handler is not None and not isinstance(capability, Flow)
    return Plan(
        descriptor=descriptor,
        attribute=row.attribute,
        handler=handler,
        is_async=handler is None or inspect.iscoroutinefunction(handler),
        blocking=capability.options.blocking,
        retry=checked_retry(capability.at, capability.options.retry),
        turn=turn_of(row.capability.id, concurrency_of(capability)),
        injected={} if row.input is None else cast("Mapping[str, Role]", row.input.injected),
        available=capability.attached.get("available"),
        precondition=capability.attached.get("precondition"),
        precondition_parameters=_precondition_parameters(capability, row),
        note=capability.attached.get("note"),
        summary=capability.attached.get("summary"),
        redact=capability.attached.get("redact"),
        redact_is_async=inspect.iscoroutinefunction(capability.attached.get("redact")),
        bindings=_bindings(capability, _names(block, "overridable")),
        agent_input=agent_input,
        full_input=agent_input if operation is None else Validator(operation.input_schema),
        convert=None if row.input is None else row.input.convert,
        dump=_dump(row, page=page),
        output=None if output is None else Validator(cast("Mapping[str, Json]", output)),
        operation=None if operation is None else operation.name,
        operation_hash=None if operation is None else operation.hash,
        approver=capability.options.approver,
        may_vary={name: field_schema(agent_schema, name) for name in _names(block, "may_vary")},
        sensitive=_names(block, "sensitive"),
        audit=row.governed.audit,
        timeout_s=timeout,
        spend_s=spend,
        doors=None if doors is None else frozenset(cast("list[str]", doors)),
        policies=checked_policies(capability.at, capability.options.policies),
        template=row.template,
        handing=row.handing,
        flow=_composite(capability, plans),
        place=capability.at.place or declaration.at.place or "",
        page=page,
    )


def _composite(capability: Capability, plans: Mapping[str, Plan]) -> Composite | None:
    steps = tuple(plans[id] for id in flow_steps(capability))
    if not steps:
        return None
    return Composite(steps=steps, approvers=tuple(sorted({step.approver for step in steps if step.approver})))


def _dump(row: CapabilityRow, *, page: bool) -> Callable[[object], tuple[Json, bytes]]:
    """What turns a result into JSON; what a page answers is JSON already, and nothing where nothing is declared."""
    dump = take if row.output is None else row.output.dump
    if not page:
        return dump
    declared = row.block["output"] is not None

    def dumped(result: object) -> tuple[Json, bytes]:
        if not isinstance(result, Answered):
            return dump(result)
        if not declared and result.value is not None:
            raise OutputRefused("the page answered with a value, and no output is declared")
        return take(result.value)

    return dumped


def _bindings(capability: Capability, overridable: tuple[str, ...]) -> tuple[Binding, ...]:
    return tuple(
        Binding(path=path, steps=steps_of(path), value=value, overridable=path in overridable)
        for path, value in sorted(capability.bindings.items())
    )


def _precondition_parameters(capability: Capability, row: CapabilityRow) -> tuple[str, ...]:
    function = capability.attached.get("precondition") if isinstance(capability, Action) else None
    if function is None or row.input is None:
        return ()
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        record = () if row.template is None else (row.template.parameter,)
        return (*record, *row.input.parameters, *row.input.injected)
    return tuple(parameter.name for parameter in parameters)


def _names(block: Mapping[str, Json], field: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", block.get(field, [])))


def _descriptor(declaration: Declaration, row: CapabilityRow) -> Descriptor:
    block = row.block
    return Descriptor(
        id=row.capability.id,
        kind=row.capability.kind,
        effect=row.effect,
        component=declaration.type,
        title=row.capability.options.title,
        description=str(block["description"]),
        input_schema=cast("Mapping[str, object]", block["input"]),
        output_schema=cast("Mapping[str, object] | None", block["output"]),
        idempotent=row.governed.idempotent,
        reversible=row.governed.reversible,
        confirmation=Confirmation(str(block["confirmation"])),
        bound=tuple(sorted(row.capability.bindings)),
        overridable=_names(block, "overridable"),
        tags=tuple(cast("list[str]", block["tags"])),
        deprecated=row.capability.options.deprecated,
        meta=cast("Mapping[str, object] | None", block.get("meta")),
        untrusted=block.get("untrusted") is True or _names(block, "untrusted") or False,
        record=None if row.template is None else kind_of(row.template.parameter),
        handoff=None if row.handing is None else row.handing.reason,
        source=checked_source(row.capability.at, row.capability.options.source),
        fidelity=row.governed.fidelity,
        steps=flow_steps(row.capability),
    )
