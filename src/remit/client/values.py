"""What a door of the page protocol tells, as values (SPEC 11.1, 11.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from remit._model.outcome import Failed, Ok, Outcome
from remit._model.steps import StepsDone
from remit._model.wire import error_from_json

Form: TypeAlias = dict[str, Any]


class DoorError(Exception):
    """What came back is no answer of the page protocol: `status` is that of HTTP.

    401 is a token that is not good (any more), here. No call is sent twice by itself.
    """

    def __init__(self, status: int, what: str) -> None:
        super().__init__(f"{status}: {what}")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One capability as the latest describe shows it; names and words are those of the protocol (SPEC 11.3)."""

    id: str
    description: str
    effect: str
    available: bool
    registration: str
    instance: str
    title: str | None = None
    reason: str | None = None
    input_schema: Mapping[str, object] | None = None
    approval: str = "none"
    fidelity: str = "high"
    source: str = "declared"
    scope_path: tuple[str, ...] = ()
    handoff: Mapping[str, object] | None = None
    flow_steps: int | None = None
    offscreen: bool = False
    record: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One view as this caller may see it now; `views` are all that it reaches."""

    view: str
    title: str
    route: str | None
    views: tuple[Mapping[str, object], ...]
    surface: str
    version: str
    capabilities: tuple[Capability, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event of the stream: its name, the view it happened in, and what there is to tell of it."""

    name: str
    view: str | None
    surface: str | None
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A handoff that is open, or how it ended: the fields of the answer as they came."""

    fields: Mapping[str, object]


def described(form: Form) -> Described | Failed:
    """The answer to `describe`."""
    if not form["ok"]:
        return failed(form, "")
    return Described(
        view=form["view"],
        title=form["title"],
        route=form["route"],
        views=tuple(form["views"]),
        surface=form["surface"],
        version=form["version"],
        capabilities=tuple(_capability(each) for each in form["capabilities"]),
    )


def outcome(form: Form, capability: str) -> Outcome:
    """The answer to `invoke`."""
    if not form["ok"]:
        return failed(form, capability)
    mark = form.get("untrusted", False)
    return Ok(
        invocation_id=form["invocation"],
        capability_id=form["capability"],
        output=form["output"],
        surface_version=form["version"],
        surface_changed=form.get("changed", False),
        untrusted=mark if isinstance(mark, bool) else tuple(mark),
        steps=_steps(form),
    )


def failed(form: Form, capability: str) -> Failed:
    """A refusal."""
    return Failed(
        invocation_id=form.get("invocation", ""),
        capability_id=form.get("capability", capability),
        error=error_from_json(form["error"]),
        surface_version=form.get("version", ""),
        surface_changed=form.get("changed", False),
        steps=_steps(form),
    )


def _steps(form: Form) -> StepsDone | None:
    steps = form.get("steps")
    return None if steps is None else StepsDone(steps["done"], steps["of"])


def happening(form: Form) -> Happening:
    """One event."""
    return Happening(name=form["event"], view=form.get("view"), surface=form.get("surface"), data=form["data"])


def _capability(form: Form) -> Capability:
    return Capability(
        id=form["id"],
        description=form["description"],
        effect=form["effect"],
        available=form["available"],
        registration=form["registration"],
        instance=form["instance"],
        title=form.get("title"),
        reason=form.get("reason"),
        input_schema=form.get("inputSchema"),
        approval=form.get("approval", "none"),
        fidelity=form.get("fidelity", "high"),
        source=form.get("source", "declared"),
        scope_path=tuple(form.get("scopePath", ())),
        handoff=form.get("handoff"),
        flow_steps=form.get("flowSteps"),
        offscreen=form.get("offscreen", False),
        record=form.get("record"),
    )
