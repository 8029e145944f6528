"""Definitions of tools: fixed text and schemas of a capability, apart from its live state (SPEC 12.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._model.consumer import Consumer
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Fidelity, Kind
from remit._model.pattern import Patterns

KEPT = 2_000
WRAPPED = "result"
"""The one property under which an output that is no object travels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a model's host may show about a tool: mapped only towards caution, never an authorization (SPEC 12.8)."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Definition:
    """The fixed part of one tool, whatever its name in a listing.

    Schemas have an object at their root; `wraps` says that an output travels as `{"result": output}`. They are shared:
    nobody may change them.
    """

    id: str
    title: str | None
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    wraps: bool
    hints: Hints
    _fixed: dict[str, object] = field(init=False, repr=False)
    _annotations: dict[str, bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        form: dict[str, object] = {} if self.title is None else {"title": self.title}
        form["description"] = self.description
        form["inputSchema"] = self.input_schema
        if self.output_schema is not None:
            form["outputSchema"] = self.output_schema
        object.__setattr__(self, "_fixed", form)
        annotations = {
            "readOnlyHint": self.hints.read_only,
            "destructiveHint": self.hints.destructive,
            "idempotentHint": self.hints.idempotent,
            "openWorldHint": self.hints.open_world,
        }
        object.__setattr__(self, "_annotations", annotations)

    def to_json(self, name: str) -> dict[str, object]:
        """The tool under this name: fresh but for its schemas, equal bytes as long as the contract is the same."""
        return {"name": name, **self._fixed, "annotations": self._annotations.copy()}

    def structured(self, output: object) -> dict[str, object] | None:
        """An output in the shape that `output_schema` announces; None where none is announced."""
        if self.output_schema is None:
            return None
        if self.wraps or not isinstance(output, dict):
            return {WRAPPED: output}
        return output


class Definitions:
    """Makes each definition once; keyed by the descriptor itself, so another contract never meets an old text."""

    __slots__ = ("_confirm", "_kept", "_patterns")

    def __init__(self, consumer: Consumer, clock: Clock) -> None:
        self._kept: Bounded[Descriptor, Definition] = Bounded(KEPT, None, clock)
        self._confirm = frozenset(consumer.confirm)
        self._patterns = Patterns(text for text in consumer.confirm if ":" in text)

    def of(self, descriptor: Descriptor) -> Definition:
        """The definition of a capability, as this consumer is told about it."""
        found = self._kept.get(descriptor)
        if found is None:
            found = define(descriptor, asks=self.asks(descriptor))
            self._kept.put(descriptor, found)
        return found

    def asks(self, descriptor: Descriptor) -> bool:
        """Whether this consumer needs a person for it, whatever the contract declares (SPEC 5.1)."""
        return descriptor.effect.value in self._confirm or descriptor.id in self._patterns


def define(descriptor: Descriptor, *, asks: bool = False) -> Definition:
    """Make a definition; `asks` says that this consumer needs a person whatever the contract declares (SPEC 5.1)."""
    output, wraps = _output(descriptor.output_schema)
    return Definition(
        id=descriptor.id,
        title=descriptor.title,
        description=f"{prefix(descriptor, asks=asks)} {descriptor.description}",
        input_schema=object_root(descriptor.input_schema),
        output_schema=output,
        wraps=wraps,
        hints=hints(descriptor),
    )


def prefix(descriptor: Descriptor, *, asks: bool = False) -> str:
    """`[view · local-state]`, `[domain · destructive · requires confirmation]`: plane, effect, a person's part."""
    parts = [descriptor.plane, descriptor.effect.value]
    if asks or descriptor.confirmation.rank >= Confirmation.REQUIRED.rank:
        parts.append("requires confirmation")
    elif descriptor.confirmation is Confirmation.OPTIONAL:
        parts.append("may require confirmation")
    if descriptor.handoff is not None:
        parts.append("only a person does it")
    if descriptor.fidelity is not Fidelity.HIGH:
        parts.append(f"{descriptor.fidelity.value} fidelity")
    if descriptor.steps:
        parts.append("1 step" if len(descriptor.steps) == 1 else f"{len(descriptor.steps)} steps")
    return f"[{' · '.join(parts)}]"


def hints(descriptor: Descriptor) -> Hints:
    """Hints from the effect: what is not certainly harmless is announced as the worse of the two."""
    reads = descriptor.effect.reads_only
    local = descriptor.effect in {Effect.LOCAL_STATE, Effect.NAVIGATION}
    return Hints(
        read_only=reads,
        destructive=not reads and not local,
        idempotent=reads or descriptor.idempotent,
        open_world=descriptor.kind is Kind.REFERENCE
        or bool(descriptor.untrusted)
        or any(step.startswith("domain:") for step in descriptor.steps),
    )


def object_root(schema: Mapping[str, object]) -> Mapping[str, object]:
    """A schema whose root says `type: object`; a root that only points into its own `$defs` is inlined."""
    if schema.get("type") == "object":
        return schema
    inlined = _inlined(schema)
    return inlined if inlined.get("type") == "object" else {**inlined, "type": "object"}


def _output(schema: Mapping[str, object] | None) -> tuple[Mapping[str, object] | None, bool]:
    if schema is None:
        return None, False
    inlined = schema if "type" in schema else _inlined(schema)
    if inlined.get("type") == "object":
        return inlined, False
    inner = {key: value for key, value in inlined.items() if key not in {"$defs", "$schema"}}
    wrapped: dict[str, object] = {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
        "additionalProperties": False,
    }
    if "$defs" in inlined:
        wrapped["$defs"] = inlined["$defs"]
    return wrapped, True


def _inlined(schema: Mapping[str, object]) -> Mapping[str, object]:
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, Mapping):
        return schema
    target = definitions.get(reference.removeprefix("#/$defs/"))
    if not isinstance(target, Mapping):
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**target, **rest}
