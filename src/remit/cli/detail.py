"""One capability in full: what it takes and gives, what opened each door, and everything that stands before it."""

from collections.abc import Iterable, Iterator, Mapping

from remit._base.boundary import Json
from remit._contract.manifest import Block
from remit._contract.operation import OperationRecord
from remit._model.effects import DEFAULTS, Fidelity, Source
from remit._schema.phrase import phrase
from remit.cli.report import Line


def as_detail(line: Line, block: Block) -> str:
    """The id, then one fact a line; what does not apply is left out."""
    return _told(line.id, _facts(line, block))


def _told(id: str, facts: Iterable[tuple[str, str]]) -> str:
    told = [(name, text) for name, text in facts if text]
    width = max(len(name) for name, _ in told)
    return "\n".join([id, *(f"  {name.ljust(width)}  {text}" for name, text in told)])


def _facts(line: Line, block: Block) -> Iterator[tuple[str, str]]:
    yield "component", line.component + (", headless" if line.headless else ", a page may bind it" if line.page else "")
    yield "dependency", line.dependency or ""
    yield "where", line.place or ""
    yield "targets", ", ".join(line.targets)
    yield "text", line.description
    yield "effect", f"{line.effect}, {_said(block, 'idempotent')}, {_said(block, 'reversible')}"
    yield "source", line.source if line.source != Source.DECLARED else ""
    yield "fidelity", line.fidelity if line.fidelity != Fidelity.HIGH else ""
    yield "confirmation", f"{line.confirmation}; {line.decides}" if line.decides != "-" else line.confirmation
    yield "lowered", line.reason or ""
    yield "a person does it", _handoff(block)
    yield from ((f"step {place}", id) for place, id in enumerate(line.steps, start=1))
    for door, by in line.doors.items():
        yield f"door {door}", by
    if not line.doors:
        yield "doors", "none"
    yield "policies", ", ".join(line.policies)
    yield "precondition", "judges each call before it runs" if block.get("precondition") is True else ""
    for name, schema in _properties(block["input"]).items():
        yield f"input {name}", _shape(schema)
    yield "record", "" if line.record is None else f"one {line.record} of those that `.records` lets reach"
    yield "filled by view", ", ".join(line.bound)
    yield "agents may fill", ", ".join(line.overridable)
    yield "may vary", ", ".join(line.may_vary)
    yield "withheld", ", ".join(line.sensitive)
    output = block["output"]
    yield "output", phrase(output) if isinstance(output, dict) else ""
    for name, schema in _properties(output).items():
        yield f"output {name}", _shape(schema)
    yield "from outside", "all it says" if line.untrusted is True else ", ".join(line.untrusted or ())
    yield from (("allowed name", f"{name}: {why}") for name, why in _allowed(block))
    yield "audit", line.audit
    yield "turns", line.turns or ""
    yield "attempts", str(line.attempts) if line.attempts > 1 else ""
    yield "hash", str(block["hash"])


def as_offered(record: OperationRecord) -> str:
    """An operation that a backend offers and no component references: what an agent would be given of it."""
    facts: list[tuple[str, str]] = [
        ("state", "listed, and no component references it"),
        ("text", record.description),
        ("effect", f"{record.effect.value}, {'idempotent' if record.idempotent else 'not idempotent'}"),
        ("confirmation", (record.confirmation or DEFAULTS[record.effect].confirmation).value),
        ("tags", ", ".join(record.tags)),
        *((f"input {name}", _shape(schema)) for name, schema in _properties(dict(record.input_schema)).items()),
        ("output", "" if record.output_schema is None else phrase(dict(record.output_schema))),
        ("hash", record.hash),
    ]
    return _told(f"domain:{record.name}", facts)


def _shape(schema: Json) -> str:
    return phrase(schema) if isinstance(schema, dict) and "$ref" not in schema else "an object"


def _allowed(block: Block) -> Iterator[tuple[str, Json]]:
    allowed = block.get("allow_names")
    yield from allowed.items() if isinstance(allowed, dict) else ()


def _handoff(block: Block) -> str:
    handoff = block.get("handoff")
    return f"at {handoff['to']}: {handoff['reason']}" if isinstance(handoff, dict) else ""


def _said(block: Block, field: str) -> str:
    return field if block[field] is True else f"not {field}"


def _properties(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}
