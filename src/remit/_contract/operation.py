"""What the contract records of a backend operation that a reference names (SPEC 10.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from remit._base.boundary import Json
from remit._model.effects import Confirmation, Effect
from remit.procedures.catalogue import BackendOperation, operation_hash


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperationRecord:
    """One operation as its catalogue described it when the contract was compiled.

    `hash` covers effect, confirmation, idempotence, schemas and `request`, which is what a call sends, None for a
    function: a live operation with another hash has moved.
    """

    name: str
    effect: Effect
    confirmation: Confirmation | None
    idempotent: bool
    description: str
    tags: tuple[str, ...]
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None
    request: str | None = None
    hash: str

    def to_json(self) -> dict[str, Json]:
        """The block of the contract."""
        return {
            "name": self.name,
            "effect": self.effect.value,
            "confirmation": None if self.confirmation is None else self.confirmation.value,
            "idempotent": self.idempotent,
            "description": self.description,
            "tags": list(self.tags),
            "input": cast(Json, self.input_schema),
            "output": cast(Json, self.output_schema),
            **({} if self.request is None else {"request": self.request}),
            "hash": self.hash,
        }


def record_of(operation: BackendOperation) -> OperationRecord:
    """Record a live operation; DefinitionError when its schemas cannot be derived."""
    return OperationRecord(
        name=operation.name,
        effect=operation.effect,
        confirmation=operation.confirmation,
        idempotent=operation.idempotent,
        description=operation.description,
        tags=operation.tags,
        input_schema=operation.input_schema,
        output_schema=operation.output_schema,
        request=operation.request,
        hash=operation.hash,
    )


def record_from_json(block: Mapping[str, Json]) -> OperationRecord:
    """Read a block of the contract; KeyError, TypeError or ValueError when it is not one."""
    output, request = block["output"], block.get("request")
    record = OperationRecord(
        name=_text(block["name"]),
        effect=Effect(_text(block["effect"])),
        confirmation=None if block["confirmation"] is None else Confirmation(_text(block["confirmation"])),
        idempotent=block["idempotent"] is True,
        description=_text(block["description"]),
        tags=tuple(_text(tag) for tag in cast("list[Json]", block["tags"])),
        input_schema=_schema(block["input"]),
        output_schema=None if output is None else _schema(output),
        request=None if request is None else _text(request),
        hash=_text(block["hash"]),
    )
    expected = operation_hash(
        record.effect,
        record.confirmation,
        record.idempotent,
        record.input_schema,
        record.output_schema,
        record.request,
    )
    if record.hash != expected:
        raise ValueError(f"the hash of the operation {record.name} does not fit its block")
    return record


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _schema(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise TypeError("a schema expected")
    return value
