"""What is listed, as the page protocol tells it: ids, effects and approvals in its own words (SPEC 11.3 to 11.5)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect
from remit._model.listing import Listed
from remit._model.page_id import PageId, read_page_id
from remit._toolset.definitions import object_root

PageEffect: TypeAlias = Literal["read", "write", "destructive"]
Approval: TypeAlias = Literal["none", "ask", "always"]

_APPROVALS: Final[dict[Confirmation, Approval]] = {
    Confirmation.NEVER: "none",
    Confirmation.OPTIONAL: "none",
    Confirmation.REQUIRED: "ask",
    Confirmation.ALWAYS: "always",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What an id means to a consumer now: the call's own id and instance, and the capabilities that answer to it."""

    capability: str
    instance: str | None
    found: tuple[Listed, ...]


def effect_of(descriptor: Descriptor) -> PageEffect:
    """`read`, `write` or `destructive` (SPEC 11.4)."""
    if descriptor.effect.reads_only:
        return "read"
    return "destructive" if descriptor.effect is Effect.DESTRUCTIVE else "write"


def approval_of(descriptor: Descriptor, *, asks: bool) -> Approval:
    """Whether a person is asked; `asks` says that this consumer is configured to need one (SPEC 11.4, 5.1).

    What a consumer's configuration asks about is decided afresh each time. A destructive capability that was lowered
    to `optional` needs a person as long as no policy says otherwise (SPEC 3.4), so it is not told as free.
    """
    if asks:
        return "always"
    shown = _APPROVALS[descriptor.confirmation]
    return "ask" if shown == "none" and descriptor.effect is Effect.DESTRUCTIVE else shown


def ids_of(visible: Sequence[Listed]) -> tuple[str, ...]:
    """The id of each: without an instance while it is the only one of its name, else with it (SPEC 11.5)."""
    counts = Counter(listed.id for listed in visible)
    return tuple(str(listed.page_id if counts[listed.id] > 1 else _bare(listed)) for listed in visible)


def aim(id: str, visible: Sequence[Listed]) -> Aim:
    """Take an id apart, by what this consumer may see and else by its form; it is never aimed at anything alike."""
    bare = tuple(listed for listed in visible if id.startswith(listed.id) and id in {listed.id, str(_bare(listed))})
    if bare:
        return Aim(capability=bare[0].id, instance=None, found=bare)
    parsed = read_page_id(id)
    if parsed is None:
        return Aim(capability=id, instance=None, found=())
    named = tuple(listed for listed in visible if listed.id == parsed.capability)
    if any(parsed.kind not in {None, listed.descriptor.record} for listed in named):
        # Another kind of rows is no way of writing this capability: as a whole, the text is an id of nothing.
        return Aim(capability=id, instance=None, found=())
    found = tuple(each for each in named if parsed.instance in {each.instance, each.page_id.instance})
    return Aim(capability=parsed.capability, instance=parsed.instance, found=found)


def describe(id: str, listed: Listed, asks: Callable[[Descriptor], bool]) -> dict[str, object]:
    """One capability; what is as usual is left out, schemas are shared and must not be changed."""
    descriptor = listed.descriptor
    form: dict[str, object] = {"id": id}
    if descriptor.title is not None:
        form["title"] = descriptor.title
    form["description"] = descriptor.description
    form["effect"] = effect_of(descriptor)
    schema = object_root(descriptor.own_schema)
    if schema.get("properties") or schema.get("additionalProperties", False) is not False:
        form["inputSchema"] = schema
    approval = approval_of(descriptor, asks=asks(descriptor))
    if approval != "none":
        form["approval"] = approval
    form.update(descriptor.known)
    if listed.scope_path:
        form["scopePath"] = list(listed.scope_path)
    if descriptor.handoff is not None:
        form["handoff"] = {"reason": descriptor.handoff}
    if descriptor.steps:
        form["flowSteps"] = len(descriptor.steps)
    if listed.offscreen:
        form["offscreen"] = True
    if listed.records is not None:
        form["record"] = listed.records.to_json()
    form["available"] = listed.available
    if listed.reason is not None:
        form["reason"] = listed.reason
    form["registration"] = listed.registration
    form["instance"] = listed.instance
    return form


def _bare(listed: Listed) -> PageId:
    return replace(listed.page_id, instance=None)
