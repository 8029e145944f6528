"""The one list of rows: what a session may act on through a folded template, counted and asked one by one (SPEC 11.6).

Listing, calling and the dispatch gate ask it; an import rule lets nobody else do so.
"""

from dataclasses import dataclass

from remit._base.boundary import Json
from remit._contract.plan import Template
from remit._model.answers import RecordSet
from remit._model.record import RecordCounts
from remit._registry.entered import Raised
from remit._registry.state import Bound
from remit._registry.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Missing:
    """A record that is none; `why` and `cause` are the true reason, for the journal only."""

    why: str
    cause: BaseException | None = None


_NONE = Missing("no record that may be reached")


def counts(bound: Bound, template: Template, viewer: Viewer) -> RecordCounts | Missing:
    """How many records this consumer may reach now, or why that is not known; runs the author's function, no I/O."""
    records = _asked(bound, template, viewer)
    return records if isinstance(records, Missing) else records.counts()


def missing(bound: Bound, template: Template, viewer: Viewer, record: Json) -> Missing | None:
    """Why this value is no record that the consumer may act on now, None if it is one.

    The author's function is asked whatever the value is, and what is out of reach takes the way of what never was.
    """
    records = _asked(bound, template, viewer)
    if isinstance(records, Missing):
        return records
    if not _may_name(record, template, viewer.site.limits.record_id):
        return _NONE
    answer: object = viewer.site.entered.attempt(records.contains, record)
    if answer is True:
        return None
    if answer is False:
        return _NONE
    if isinstance(answer, Raised):
        return _wrong(bound, viewer, "contains= raised", answer.cause)
    return _wrong(bound, viewer, f"contains= returned {type(answer).__name__}, not True or False", None)


def _may_name(record: Json, template: Template, most: int) -> bool:
    """Whether this JSON value can be an id: of the parameter's type, by type (`17` is not `"17"`, `True` is none)."""
    if type(record) not in template.types:
        return False
    return not isinstance(record, str) or 0 < len(record) <= most


def _asked(bound: Bound, template: Template, viewer: Viewer) -> RecordSet | Missing:
    answer = viewer.site.entered.attempt(template.records, bound.registration.component, viewer.read_context(bound))
    if isinstance(answer, Raised):
        return _wrong(bound, viewer, ".records raised", answer.cause)
    if not isinstance(answer, RecordSet):
        return _wrong(bound, viewer, f".records returned {type(answer).__name__}, not a RecordSet", None)
    if answer.ids is not None and not all(isinstance(id, tuple(template.types)) for id in answer.ids):
        named = " or ".join(sorted(each.__name__ for each in template.types))
        return _wrong(bound, viewer, f".records has ids that are not {named}, as `{template.parameter}` is", None)
    return answer


def _wrong(bound: Bound, viewer: Viewer, why: str, cause: BaseException | None) -> Missing:
    """Fail closed: no record may be reached, and the operator hears why."""
    viewer.site.wrong_records(bound.plan.id, why, cause)
    return Missing(f"{why}, so no record may be reached", cause)
