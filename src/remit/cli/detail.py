"""One capability in full: what it takes and gives, what opened each door, and everything that stands before it."""

from collections.abc import Iterator, Mapping

from remit._base.boundary import Json
from remit._contract.manifest import Block
from remit._schema.phrase import phrase
from remit.cli.report import Line


def as_detail(line: Line, block: Block) -> str:
    """The id, then one fact a line; what does not apply is left out."""
    facts = [(name, text) for name, text in _facts(line, block) if text]
    width = max(len(name) for name, _ in facts)
    return "\n".join([line.id, *(f"  {name.ljust(width)}  {text}" for name, text in facts)])


def _facts(line: Line, block: Block) -> Iterator[tuple[str, str]]:
    yield "component", line.component
    yield "dependency", line.dependency or ""
    yield "where", line.place or ""
    yield "text", line.description
    yield "effect", f"{line.effect}, {_said(block, 'idempotent')}, {_said(block, 'reversible')}"
    yield "confirmation", f"{line.confirmation}; {line.decides}" if line.decides != "-" else line.confirmation
    yield "lowered", line.reason or ""
    for door, by in line.doors.items():
        yield f"door {door}", by
    if not line.doors:
        yield "doors", "none"
    yield "policies", ", ".join(line.policies)
    for name, schema in _properties(block["input"]).items():
        yield f"input {name}", phrase(schema) if isinstance(schema, dict) and "$ref" not in schema else "an object"
    yield "filled by view", ", ".join(line.bound)
    yield "agents may fill", ", ".join(line.overridable)
    yield "may vary", ", ".join(line.may_vary)
    yield "withheld", ", ".join(line.sensitive)
    output = block["output"]
    yield "output", phrase(output) if isinstance(output, dict) else ""
    for name, schema in _properties(output).items():
        yield f"output {name}", phrase(schema) if isinstance(schema, dict) and "$ref" not in schema else "an object"
    yield "from outside", "all it says" if line.untrusted is True else ", ".join(line.untrusted or ())
    yield "audit", line.audit
    yield "turns", line.turns or ""
    yield "attempts", str(line.attempts) if line.attempts > 1 else ""
    yield "hash", str(block["hash"])


def _said(block: Block, field: str) -> str:
    return field if block[field] is True else f"not {field}"


def _properties(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}
