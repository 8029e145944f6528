"""Bodies: which of the declared media types is sent, and the bytes of one (SPEC 10.6)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, cast

from remit._base.boundary import Json, canonical
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.parameters import Parameter, Shape, named_fields, styled
from remit.procedures.openapi.refusal import OperationRefused, ValueRefused
from remit.procedures.openapi.schemas import Converter, without_null
from remit.procedures.openapi.wire import query_pairs, text_of

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_PLAIN_NAME: Final = re.compile(r"[^\x00-\x1f\x7f\"\\]{1,128}")
_SPREAD: Final = frozenset({"type", "properties", "required", "additionalProperties", "description"})

Write = Callable[[Mapping[str, str], Json], tuple[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One body that can be sent.

    `fields` are its own fields when these stand in the input beside the parameters, None when the body is one field.
    `write` gives content type and bytes; its first argument names each field as the agent knows it.
    """

    media: str
    required: bool
    schema: Node
    fields: tuple[str, ...] | None
    write: Write


def read_body(node: Json, document: Document, converter: Converter) -> Body:
    """Choose among the media types: JSON, then other JSON, form, multipart, text; the first in this order is sent."""
    declared = document.followed(node)
    content = declared.get("content")
    if not isinstance(content, dict) or not content:
        raise OperationRefused("a body of no media type")
    media = min(content, key=lambda name: (_rank(name), name))
    if _rank(media) == len(_ORDER):
        raise OperationRefused(f"a body of {', '.join(sorted(content))[:120]}, which is not sent")
    said = document.followed(content[media])
    schema = converter.convert(said.get("schema", True))
    required = declared.get("required") is True
    write: Write
    if _is_json(_essence(media)):
        write = json_writer(media)
    elif _essence(media) == "text/plain":
        schema = converter.plain(schema)
        if schema.get("type") != "string":
            raise OperationRefused("a text body that is no string")
        write = _text
    else:
        schema = without_null(_object(schema, converter), converter)
        encoding = cast(Node, said.get("encoding", {}))
        write = _form(schema, encoding, converter) if _essence(media) == _FORM else _multipart(schema, encoding)
    return Body(
        media=media, required=required, schema=schema, fields=fields_of(schema, required, converter), write=write
    )


def _essence(media: str) -> str:
    return media.split(";")[0].strip().lower()


def _is_json(essence: str) -> bool:
    return essence == "application/json" or essence.endswith("+json")


_ORDER: Final[tuple[Callable[[str], bool], ...]] = (
    lambda essence: essence == "application/json",
    _is_json,
    lambda essence: essence == _FORM,
    lambda essence: essence == _MULTIPART,
    lambda essence: essence == "text/plain",
)


def _rank(media: str) -> int:
    essence = _essence(media)
    return next((rank for rank, is_one in enumerate(_ORDER) if is_one(essence)), len(_ORDER))


def fields_of(schema: Node, required: bool, converter: Converter) -> tuple[str, ...] | None:
    """A body that must be sent and is a plain object spreads its fields; another one stays one field."""
    plain = converter.plain(schema)
    spreads = (
        required
        and plain.get("type") == "object"
        and isinstance(plain.get("properties"), dict)
        and set(plain) <= _SPREAD
        and plain.get("additionalProperties") in (None, False)
    )
    return tuple(cast("dict[str, Json]", plain["properties"])) if spreads else None


def _object(schema: Node, converter: Converter) -> Node:
    plain = converter.plain(schema)
    if plain.get("type") != "object" or not named_fields(plain) or plain.get("additionalProperties"):
        raise OperationRefused("a form that is no object of named fields")
    return plain


# Writers


def json_writer(media: str) -> Write:
    """Writes canonical JSON."""
    return lambda fields, value: (media, canonical(value))


def _text(fields: Mapping[str, str], value: Json) -> tuple[str, bytes]:
    return "text/plain; charset=utf-8", cast(str, value).encode()


def _form(schema: Node, encoding: Node, converter: Converter) -> Write:
    parameters: dict[str, Parameter] = {}
    for name, child in named_fields(schema).items():
        said = cast(Node, encoding.get(name, {}))
        if "contentType" in said or "headers" in said:
            raise OperationRefused(f"the form field {name[:64]!r} has an encoding of its own")
        try:
            parameters[name] = styled(name, "query", child, converter, said)
        except OperationRefused as refused:
            raise OperationRefused(f"the form field {name[:64]!r}: {refused}") from None
        if parameters[name].shape is Shape.OBJECT and parameters[name].style == "form" and parameters[name].explode:
            raise OperationRefused(f"the form field {name[:64]!r} loses its name when it is exploded")

    def write(fields: Mapping[str, str], value: Json) -> tuple[str, bytes]:
        given = cast("Mapping[str, Json]", value)
        pairs = [
            pair
            for name, parameter in parameters.items()
            if name in given
            for pair in query_pairs(parameter, given[name], fields.get(name, name))
        ]
        return _FORM, "&".join(pairs).encode()

    return write


def _multipart(schema: Node, encoding: Node) -> Write:
    names = tuple(cast("dict[str, Json]", schema["properties"]))
    for name in names:
        if name in encoding:
            raise OperationRefused(f"the part {name[:64]!r} has an encoding of its own")
        if not _PLAIN_NAME.fullmatch(name):
            raise OperationRefused(f"the part {name[:64]!r} has a name that cannot be written")

    def write(fields: Mapping[str, str], value: Json) -> tuple[str, bytes]:
        given = cast("Mapping[str, Json]", value)
        for name in names:
            if given.get(name) == []:
                raise ValueRefused(fields.get(name, name), "is an empty array, which leaves no trace in a form")
        parts = [part for name in names if name in given for part in _parts(name, given[name])]
        # Made of what is sent: equal for equal values, and nobody who does not know them all can put it into one.
        boundary = "remit-" + sha256(b"\0".join(parts)).hexdigest()[:32]
        mark = f"--{boundary}".encode()
        body = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + b"--\r\n"
        return f"{_MULTIPART}; boundary={boundary}", body

    return write


def _parts(name: str, value: Json) -> list[bytes]:
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return [part for each in value for part in _parts(name, each)]
    head = f'Content-Disposition: form-data; name="{name}"\r\n'
    if isinstance(value, dict | list):
        return [head.encode() + b"Content-Type: application/json\r\n\r\n" + canonical(value)]
    return [head.encode() + b"\r\n" + text_of(value).encode()]
