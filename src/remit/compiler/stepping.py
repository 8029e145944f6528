"""The steps of flows, held against what their component declares (SPEC 11.8, 13.2)."""

from collections.abc import Iterator, Mapping
from typing import cast

from remit.compiler.declared import DeclaredCapability
from remit.errors import Finding


def step_findings(type_name: str, capabilities: Mapping[str, DeclaredCapability]) -> Iterator[Finding]:
    """A finding for each step that is a flow, or that the component does not declare; both in source order."""
    by_id = {each.name: each for each in capabilities.values()}
    for flow in by_id.values():
        for id in steps_of(flow):
            step = by_id.get(id)
            if step is None:
                found = f"the flow {flow.name} has the step {id!r}, which {type_name} does not declare"
                yield _at(flow, found, "the id of one of its capabilities; for what a backend does, a reference")
            elif steps_of(step):
                found = f"the flow {flow.name} has the step {id}, which is a flow"
                yield _at(flow, found, f"the steps of {id} in its place: there are no flows inside flows")


def steps_of(capability: DeclaredCapability) -> tuple[str, ...]:
    """The ids that a flow names, none for every other capability."""
    return tuple(cast("list[str]", capability.options.get("steps") or ()))


def _at(flow: DeclaredCapability, found: str, write: str) -> Finding:
    return Finding(path=flow.path, line=flow.line, found=found, write=write)
