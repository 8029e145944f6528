"""The declared errors of a procedure, and what one that was thrown means (SPEC 10.5, 10.7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from remit._base.boundary import Json, NotJson
from remit._schema.subset import to_subset
from remit._schema.validate import Validator
from remit.errors import DefinitionError
from remit.procedures.errors import BackendError, NoAnswer
from remit.procedures.http.answer import seconds_of
from remit.procedures.http.sending import Received
from remit.procedures.openapi.answers import Names, issues_of, parsed
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.schemas import Converter
from remit.procedures.orpc.payload import Thrown, thrown_of, value_of

_INVALID: Final = (400, 422)
_FAILED_FROM: Final = 500
_BAD_GATEWAY: Final = 502
_PLACES: Final = {"params": "path", "query": "query", "headers": "header", "body": "body"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """What a procedure may throw: only a code and data that the document declares reach an agent."""

    document: Document
    operation: Node
    names: Names
    detailed: bool
    wrapped: bool
    subject: str

    @cached_property
    def _judges(self) -> Mapping[str, Validator]:
        """By declared code what judges its data; read when the first error comes, for most never do."""
        found: dict[str, Validator] = {}
        responses = self.operation.get("responses")
        for status, node in (responses if isinstance(responses, dict) else {}).items():
            if not status.startswith(("1", "2", "3")):
                for code, data in _declared(self.document, node):
                    if (judge := _judge(self.document, data, self.subject)) is not None:
                        found[code] = judge
        return found

    def body(self, received: Received) -> Json:
        """The unwrapped body of an answer that is no success; None for one that is no JSON."""
        try:
            return value_of(parsed(received.body), wrapped=self.wrapped) if received.body else None
        except NotJson:
            return None

    def of_answer(self, received: Received, now: datetime) -> BackendError:
        """What an answer that is no success says; text stays here."""
        thrown = thrown_of(self.body(received))
        after_s = seconds_of(received.headers.get("retry-after"), now)
        if thrown is None:
            return BackendError(received.status, "no procedure said so, but something in front", retry_after=after_s)
        return self._told(received.status, thrown, after_s)

    def of_event(self, message: Json, *, changed: bool) -> BackendError:
        """What an error inside a stream says; with `changed` nobody knows what had happened before it."""
        thrown = thrown_of(message)
        if thrown is None and isinstance(message, dict):
            thrown = thrown_of(message.get("data"))  # 2.0.0-beta.16 puts it one deeper in the OpenAPI form
        if thrown is None:
            return NoAnswer(_BAD_GATEWAY, "the stream ended with something else than an error of oRPC")
        status = thrown.status_of_event()
        if changed and status < _FAILED_FROM:
            return self._told(_BAD_GATEWAY, thrown, None, NoAnswer, "the stream ended with")
        return self._told(status, thrown, None)

    def _told(
        self,
        status: int,
        thrown: Thrown,
        after_s: float | None,
        kind: type[BackendError] = BackendError,
        said: str = "the procedure answered",
    ) -> BackendError:
        judge = self._judges.get(thrown.code) if thrown.defined else None
        declared = judge is not None and judge.is_valid({} if thrown.data is None else {"data": thrown.data})
        issues = issues_of(self._placed(thrown.data), self.names, told=False) if status in _INVALID else []
        return kind(
            status,
            f"{said} {thrown.code[:80]}",
            issues=issues,
            code=thrown.code if declared else None,
            data=thrown.data if declared else None,
            retry_after=after_s,
        )

    def _placed(self, data: Json) -> Json:
        """Issues of the schema library, their paths as the places of the document."""
        issues = data.get("issues") if isinstance(data, dict) else None
        if not isinstance(issues, list):
            return None
        return {"issues": [{"path": self._path(each.get("path"))} for each in issues if isinstance(each, dict)]}

    def _path(self, path: Json) -> Json:
        if not isinstance(path, list):
            return []
        steps = [step.get("key") if isinstance(step, dict) else step for step in path]
        if self.detailed and steps and isinstance(steps[0], str):
            return [_PLACES.get(steps[0], steps[0]), *steps[1:]]
        if ("body", "body") in self.names and not self._is_field(steps):
            return ["body", *steps]
        return steps

    def _is_field(self, steps: list[Json]) -> bool:
        return bool(steps) and any(slot[1] == steps[0] for slot in self.names if slot != ("body", "body"))


def _declared(document: Document, node: Json) -> Iterator[tuple[str, Json]]:
    """The codes of one response of the document, each with the schema of an object that holds its data."""
    try:
        content = document.followed(node).get("content")
        media = content.get("application/json") if isinstance(content, dict) else None
        schema = document.followed(media.get("schema")) if isinstance(media, dict) else {}
        branches = schema.get("oneOf", schema.get("anyOf", [schema]))
        for branch in branches if isinstance(branches, list) else []:
            properties = document.followed(branch).get("properties")
            if not isinstance(properties, dict):
                continue
            code, defined = properties.get("code"), properties.get("defined")
            if isinstance(code, dict) and isinstance(code.get("const"), str) and _is_true(defined):
                required = document.followed(branch).get("required")
                must: list[Json] = ["data"] if isinstance(required, list) and "data" in required else []
                data = properties.get("data", True)
                yield str(code["const"]), {"type": "object", "properties": {"data": data}, "required": must}
    except OperationRefused:
        return  # what cannot be read counts as undeclared


def _is_true(defined: Json) -> bool:
    return isinstance(defined, dict) and defined.get("const") is True


def _judge(document: Document, schema: Json, subject: str) -> Validator | None:
    converter = Converter(document, "answered")
    try:
        whole = converter.whole(converter.convert(schema))
        return Validator(to_subset(whole, subject=subject, closed=False))
    except (OperationRefused, DefinitionError):
        return None  # what cannot be judged counts as undeclared
