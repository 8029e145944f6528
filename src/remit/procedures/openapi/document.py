"""One OpenAPI document: where it comes from, its version, and what its local references point at (SPEC 10.1, 10.6)."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, cast
from urllib.parse import unquote

import httpx2
import orjson

from remit._base.boundary import Json
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.openapi.refusal import OperationRefused

try:
    from remit.procedures.openapi import yaml_text
except ImportError:  # PyYAML is not installed; only documents in YAML need it
    yaml_text = None  # type: ignore[assignment]

MAX_BYTES: Final = 5 * 1024 * 1024
FETCH_S: Final = 10.0

_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.1/dialect/base",
)
_MAX_HOPS: Final = 32
_INDEX: Final = re.compile(r"[0-9]{1,9}")
MARK: Final = b"\xef\xbb\xbf"
_SAME: Final = "write what JSON could say, and nothing else"

Node: TypeAlias = dict[str, Json]
JsonSource: TypeAlias = str | Path | Mapping[str, object]
Source: TypeAlias = JsonSource | Callable[..., object]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Document:
    """A document of version 3.0 (`old`) or 3.1; `place` names it in errors, `outputs` are those read before."""

    root: Node
    old: bool
    place: str
    outputs: dict[bytes, Mapping[str, Json] | None] = field(default_factory=dict)

    def target(self, reference: str) -> Json:
        """What a local reference points at; OperationRefused for one that leaves the document or points at nothing."""
        if not reference.startswith("#/"):
            raise OperationRefused(f"it refers to another document: {reference[:80]!r}")
        here: Json = self.root
        for step in reference[2:].split("/"):
            key = unescaped(step)
            if isinstance(here, dict) and key in here:
                here = here[key]
            elif isinstance(here, list) and _INDEX.fullmatch(key) and int(key) < len(here):
                here = here[int(key)]
            else:
                raise OperationRefused(f"it refers to what the document does not have: {reference[:80]!r}")
        return here

    def followed(self, node: Json) -> Node:
        """The object itself, through any chain of references."""
        for _ in range(_MAX_HOPS):
            if not isinstance(node, dict):
                raise OperationRefused("the document has something else where an object belongs")
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            node = self.target(reference)
        raise OperationRefused("its references lead in a circle")


def unescaped(step: str) -> str:
    """One step of a reference as the key it means (RFC 6901, in the fragment of an address)."""
    return unquote(step).replace("~1", "/").replace("~0", "~")


def read_document(source: Source, *, folder: Path) -> Document:
    """Read the document: a mapping, an application that has `openapi()`, an http(s) address, or a file.

    A file's relative name is looked up in `folder`. At most 5 MiB; from an address within 10 s, without following a
    redirect and without any credential. A file or an answer that does not begin as a JSON object does is read as YAML.
    DefinitionError for everything else.
    """
    if isinstance(source, Mapping | str | Path):
        return _checked(*read_json(source, folder=folder))
    of_app = getattr(source, "openapi", None)
    if not callable(of_app):
        raise _wrong(
            type(source).__name__,
            "says nothing of its operations",
            "give a FastAPI application, or the document and app=",
        )
    place = f"{type(source).__name__}.openapi()"
    return _checked(_parsed(_dumped(of_app(), place), place), place)


def read_json(source: JsonSource, *, folder: Path) -> tuple[Json, str]:
    """Read a mapping, an address or a file as `read_document` does; gives the name for errors, too."""
    if isinstance(source, Mapping):
        return _parsed(_dumped(dict(source), "the document"), "the document"), "the document"
    text = str(source)
    if text.startswith(("http://", "https://")):
        return _read(_fetched(text), text), text
    return _read(_file(folder / text, text), text), text


def read_bytes(source: str, *, folder: Path) -> bytes:
    """What is at a file or an http(s) address, with the bounds of `read_document`, whatever it holds."""
    return _fetched(source) if source.startswith(("http://", "https://")) else _file(folder / source, source)


def _wrong(place: str, rule: str, do: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, f"OpenAPI({place})", rule, do=do)


def _dumped(value: object, place: str) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError as problem:
        raise _wrong(place, "is not JSON, or is nested too deep", "give the document as JSON") from problem


def _file(path: Path, name: str) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _wrong(name, f"has more than {MAX_BYTES} bytes", "give the part of it that is meant")
        return path.read_bytes()
    except OSError as problem:
        raise _wrong(name, "cannot be read", f"put the document at {path.name}, beside the catalogue") from problem


def _fetched(url: str) -> bytes:
    try:
        known = bool(httpx2.URL(url).host)
    except (httpx2.InvalidURL, ValueError):  # a host is read only when it is asked for
        known = False
    if not known:
        raise _wrong(url, "is an address that cannot be read", "write it as https://fleet.example/openapi.json")
    until = time.monotonic() + FETCH_S
    got = bytearray()
    try:
        with (
            httpx2.Client(follow_redirects=False, trust_env=False, timeout=FETCH_S) as client,
            client.stream("GET", url, headers={"accept": "application/json, application/yaml;q=0.5"}) as answer,
        ):
            if answer.status_code != httpx2.codes.OK:
                raise _wrong(url, f"answers {answer.status_code}", "give the address of the document itself")
            for chunk in answer.iter_bytes():
                got += chunk
                if len(got) > MAX_BYTES:
                    raise _wrong(url, f"has more than {MAX_BYTES} bytes", "give the part of it that is meant")
                if time.monotonic() > until:
                    raise _wrong(url, f"took more than {FETCH_S:g} s", "keep the document in a file")
    except httpx2.HTTPError as problem:
        raise _wrong(url, "cannot be fetched", "start the backend first, or keep the document in a file") from problem
    return bytes(got)


def _read(data: bytes, place: str) -> Json:
    """As JSON when it begins as JSON or a page does, else as YAML; a flow mapping of YAML needs a name that says so."""
    named = place.lower().endswith((".yaml", ".yml"))
    if not named and data.removeprefix(MARK).lstrip()[:1] in (b"{", b"[", b"<", b""):
        return _parsed(data, place)
    if yaml_text is None:
        raise _wrong(
            place,
            "is not JSON, and to read YAML takes PyYAML",
            'install "remit[openapi]", or give the document as JSON',
        )
    try:
        return yaml_text.read_yaml(data)
    except yaml_text.NotYaml as problem:
        raise _wrong(
            place, f"is YAML that cannot be read: {problem}" if named else f"is neither JSON nor YAML: {problem}", _SAME
        ) from problem


def _parsed(data: bytes, place: str) -> Json:
    if len(data) > MAX_BYTES:
        raise _wrong(place, f"has more than {MAX_BYTES} bytes", "give the part of it that is meant")
    try:
        return cast(Json, orjson.loads(data.removeprefix(MARK)))
    except orjson.JSONDecodeError as problem:
        raise _wrong(place, "is not JSON", "mend it, or give a document in YAML a name that ends in .yaml") from problem


def _checked(root: Json, place: str) -> Document:
    version = root.get("openapi") if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(version, str) or version.split(".")[:2] not in _VERSIONS:
        raise _wrong(place, "is no OpenAPI document of version 3.0 or 3.1", "give one of these")
    dialect = root.get("jsonSchemaDialect", _DIALECTS[0])
    if dialect not in _DIALECTS:
        raise _wrong(place, "has schemas of another dialect", "write JSON Schema 2020-12")
    if not isinstance(root.get("paths", {}), dict):
        raise _wrong(place, "has no paths", "give a whole document")
    return Document(root=root, old=version.startswith("3.0"), place=place)


_VERSIONS: Final = (["3", "0"], ["3", "1"])
