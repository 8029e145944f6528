"""What a document says of answers, and what one answer means (SPEC 10.5, 10.6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, TypeAlias, cast

import orjson

from remit._base.boundary import Json, NotJson
from remit._base.paths import join
from remit._schema.subset import to_subset
from remit._schema.validate import Validator
from remit.errors import DefinitionError, Issue
from remit.procedures.errors import BackendError
from remit.procedures.http.answer import seconds_of
from remit.procedures.http.encoded import codings_of
from remit.procedures.http.sending import Received
from remit.procedures.openapi.document import MARK, Document, Node
from remit.procedures.openapi.fields import Slot
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.schemas import Converter

Names: TypeAlias = Mapping[Slot, str]

_NULL: Final[Node] = {"type": "null"}
_REFUSED_BY_BACKEND: Final = "was refused by the backend"
_INVALID: Final = (400, 422)
_ENTRIES: Final = ("detail", "issues", "errors", "invalid-params")
_PATHS: Final = ("loc", "path", "pointer", "field", "name")
_MESSAGES: Final = ("msg", "message", "detail", "reason")
_TEXTS: Final = frozenset(
    {"code", "status", "message", "detail", "title", "type", "instance", "error", "defined", *_ENTRIES}
)


class Declared:
    """One declared error, which is read when the first such answer comes: most never do."""

    def __init__(self, document: Document, response: Node, subject: str) -> None:
        self._document = document
        self._response = response
        self._subject = subject

    @cached_property
    def judge(self) -> Validator | None:
        """Judges its bodies; None where nothing is said of them, or nothing that can be judged."""
        return _error_judge(self._document, self._response, self._subject)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """The declared answers of one operation.

    `output` is the schema of a success, None when nothing is said of it; `errors` are the declared errors, by status,
    `4XX` or `default`.
    """

    output: Mapping[str, Json] | None
    errors: Mapping[str, Declared]
    names: Names

    def value(self, received: Received) -> Json:
        """The output of a success; NotJson for what is neither JSON nor text."""
        if not received.body:
            return None
        media = received.headers.get("content-type", "").split(";")[0].strip().lower()
        if media.startswith("text/"):
            return _text(received)
        if media in ("", "application/json") or media.endswith("+json"):
            return parsed(received.body)
        raise NotJson(f"the answer is {media[:80]}")

    def error(self, received: Received, now: datetime) -> BackendError:
        """What an answer that is no success says; text that the document does not declare stays here."""
        try:
            body = parsed(received.body) if received.body else None
        except NotJson:
            body = None
        declared = isinstance(body, dict) and self._is_declared(received.status, body)
        issues = issues_of(body, self.names, told=declared) if received.status in _INVALID else []
        code, data = _declared(body) if declared and isinstance(body, dict) else (None, None)
        return BackendError(
            received.status,
            issues=issues,
            code=code,
            data=data,
            retry_after=seconds_of(received.headers.get("retry-after"), now),
        )

    def _is_declared(self, status: int, body: Json) -> bool:
        for key in (str(status), f"{status // 100}XX", "default"):
            declared = self.errors.get(key)
            if declared is not None and declared.judge is not None:
                return declared.judge.is_valid(body)
        return False


def read_answers(document: Document, operation: Node, names: Names, *, checked: bool, subject: str) -> Answers:
    """Read the declared answers; OperationRefused when a success is a file, or its schema cannot be said."""
    responses = operation.get("responses")
    declared = (
        {} if not isinstance(responses, dict) else {k.upper(): document.followed(v) for k, v in responses.items()}
    )
    success = [declared[key] for key in sorted(declared) if key.startswith("2")]
    if not success and "DEFAULT" in declared:
        success = [declared["DEFAULT"]]
    errors = {
        "default" if key == "DEFAULT" else key: Declared(document, response, subject)
        for key, response in declared.items()
        if not key.startswith(("1", "2", "3"))
    }
    output = _output(document, success, subject) if checked else None
    return Answers(output=output, errors=errors, names=names)


def _output(document: Document, responses: list[Node], subject: str) -> Mapping[str, Json] | None:
    """The schema of a success; the same words mean the same all over a document, so they are read once."""
    try:
        words = orjson.dumps([response.get("content") for response in responses])
    except orjson.JSONEncodeError:
        raise OperationRefused("its answers are nested too deep") from None
    if words not in document.outputs:
        document.outputs[words] = _read_output(document, responses, subject)
    return document.outputs[words]


def _read_output(document: Document, responses: list[Node], subject: str) -> Mapping[str, Json] | None:
    converter = Converter(document, "answered")
    found: list[Node] = []
    for response in responses:
        schema = _success(document, response, converter)
        if schema is None:
            return None
        if schema not in found:
            found.append(schema)
    if not found or found == [_NULL]:
        return None
    # Doors tell an object from other answers by the outermost type, so no reference stands there.
    whole = converter.plain(found[0]) if len(found) == 1 else cast(Node, {"anyOf": cast(Json, found)})
    try:
        return to_subset(converter.whole(whole), subject=subject, closed=False)
    except DefinitionError as problem:
        reason = f"its answer: {problem.rule}; check_output=False takes it without a schema"
        raise OperationRefused(reason) from None


def _success(document: Document, response: Node, converter: Converter) -> Node | None:
    """The schema of one success: null for an empty one, None when JSON of any kind is meant."""
    content = response.get("content")
    if not isinstance(content, dict) or not content:
        return dict(_NULL)
    for media in sorted(content):
        essence = media.split(";")[0].strip().lower()
        if essence in ("application/json", "*/*", "application/*") or essence.endswith("+json"):
            schema = document.followed(content[media]).get("schema", True)
            return None if schema is True or schema == {} else converter.convert(schema)
    if all(
        media.lower().startswith("text/") and not media.lower().startswith("text/event-stream") for media in content
    ):
        return {"type": "string"}
    raise OperationRefused(f"its answer is {', '.join(sorted(content))[:120]}: neither JSON nor text")


def _error_judge(document: Document, response: Node, subject: str) -> Validator | None:
    content = response.get("content")
    for media in sorted(content) if isinstance(content, dict) else ():
        if not media.lower().split(";")[0].strip().endswith("json"):
            continue
        converter = Converter(document, "answered")
        try:
            schema = converter.convert(document.followed(cast(Node, content)[media]).get("schema", False))
            return Validator(to_subset(converter.whole(schema), subject=subject, closed=False))
        except (OperationRefused, DefinitionError):
            return None  # an error that cannot be judged counts as undeclared
    return None


def parsed(data: bytes) -> Json:
    """The JSON of an answer; NotJson for something else."""
    try:
        return cast(Json, orjson.loads(data.removeprefix(MARK)))
    except orjson.JSONDecodeError:
        raise NotJson("the answer is not JSON") from None


def _text(received: Received) -> str:
    if codings_of(received.headers.get("content-encoding", "")) is None:
        raise NotJson("the answer is encoded in a way that was not asked for")
    charset = "utf-8"
    for part in received.headers.get("content-type", "").split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().lower() == "charset":
            charset = value.strip().strip('"')
    try:
        return received.body.decode(charset)
    except (LookupError, ValueError):
        raise NotJson("the answer is no text of its own charset") from None


def _declared(body: Mapping[str, Json]) -> tuple[str | None, Json]:
    """The code of a declared error, and its data: never the sentences beside them."""
    code = body.get("code")
    if not isinstance(code, str):
        return None, None
    if "data" in body:
        return code, body["data"]
    data: dict[str, Json] = {k: v for k, v in body.items() if k not in _TEXTS and v not in (None, [], {})}
    return code, data or None


def issues_of(body: Json, names: Names, *, told: bool) -> list[Issue]:
    """The field problems of an answer in the agent's terms; with their messages where these are declared."""
    found: list[Issue] = []
    entries: list[Json] = []
    for key in _ENTRIES if isinstance(body, dict) else ():
        listed = cast(Node, body).get(key)
        entries += listed if isinstance(listed, list) else []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        path = next((entry[key] for key in _PATHS if key in entry), None)
        message = next((entry[key] for key in _MESSAGES if isinstance(entry.get(key), str)), _REFUSED_BY_BACKEND)
        steps = _steps(path, names)
        if steps is not None and (told or (steps and steps[0] in names.values())):
            found.append(Issue(path=join(steps), message=cast(str, message) if told else _REFUSED_BY_BACKEND))
    return found


def _steps(path: Json, names: Names) -> list[str | int] | None:
    """The place in the agent's terms: FastAPI's `["body", "name", 0]`, a JSON pointer, or a plain path."""
    if isinstance(path, str):
        text = path.removeprefix("#")
        steps: list[str | int] = [
            step for step in text.replace("[", ".").replace("]", "").replace("/", ".").split(".") if step
        ]
    elif isinstance(path, list) and all(isinstance(step, str | int) for step in path):
        steps = cast("list[str | int]", list(path))
    else:
        return None
    steps = [int(step) if isinstance(step, str) and step.isascii() and step.isdecimal() else step for step in steps]
    if len(steps) > 1 and (steps[0], steps[1]) in names:
        return [names[cast(Slot, (steps[0], steps[1]))], *steps[2:]]
    if steps and ("body", "body") in names and steps[0] == "body":
        return steps
    for (_, name), field in names.items():
        if steps and name == steps[0]:
            return [field, *steps[1:]]
    return steps
