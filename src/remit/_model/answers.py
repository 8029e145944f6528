"""What application code answers to remit's questions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, overload

from remit._base.boundary import NotJson, take
from remit._base.closed import one_of
from remit._model.record import COUNTED, RecordCounts, RecordId, is_record_id
from remit.errors import Happened

DETAIL_BYTES: Final = 2_048


@dataclass(frozen=True, slots=True)
class Unavailable:
    """`available` says no, and why; the reason is disclosed (SPEC 4.7: state discloses)."""

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"Unavailable(reason) says in text why, not {type(self.reason).__name__}")


@dataclass(frozen=True, slots=True)
class Handoff:
    """A step that only a person may do: `@action(handoff=Handoff("Customers enter cards", to="/orders/{order}/pay"))`.

    An agent is told of it and never runs it, whatever anybody approves (SPEC 11.7). `reason` says why, on one line of
    at most 200 characters; `to` is where the person goes: a path of the application's own origin, in which a segment
    may be `{name}`: the record's parameter, or a field that the view fills. Both are judged when the class is created.
    """

    reason: str
    to: str = field(kw_only=True)


class Refused(Exception):
    """The author's own "no": returned by a precondition, returned or raised by a handler (SPEC 8.5).

    `reason` is shown to the agent as data; `details` must be JSON. A handler that has already acted says
    `outcome="done"`; one that cannot know says `"unknown"`; the default is `"none"`.
    """

    def __init__(self, reason: str, /, *, outcome: Happened | str = Happened.NONE, **details: object) -> None:
        if not isinstance(reason, str):
            raise TypeError(f"Refused(reason) says in text why, not {type(reason).__name__}")
        super().__init__(reason)
        self.reason = reason
        self.outcome = one_of(Happened, outcome, "Refused(outcome=…)")
        self.details = details

    def shown(self) -> dict[str, object]:
        """The details as an agent may see them: an own copy, at most 2,048 bytes; nothing if they are no JSON."""
        try:
            value, _ = take(self.details, max_bytes=DETAIL_BYTES)
        except NotJson:
            return {}
        return dict(value) if isinstance(value, dict) else {}


class RecordSet:
    """The records that a session may reach now, as `@x.records` answers (SPEC 11.6).

    Either `ids=`, with `offscreen=` naming those that the view does not show, or their number; or, where there are too
    many to list, `total=` and `contains=`, a quick function of an id that answers True or False, with `offscreen=` as a
    number. Ids are text that is not empty, or integers; they are compared by type and value, so `17` is not `"17"`.
    Only what is in the set counts as off screen. Anything else is a TypeError or a ValueError, and what raises in
    `.records` reaches nobody: no record is available then.
    """

    __slots__ = ("_ids", "contains", "offscreen", "total")

    @overload
    def __init__(self, *, ids: Iterable[RecordId], offscreen: Iterable[RecordId] | int = 0) -> None: ...
    @overload
    def __init__(self, *, total: int, contains: Callable[[RecordId], bool], offscreen: int = 0) -> None: ...
    def __init__(
        self,
        *,
        ids: Iterable[RecordId] | None = None,
        offscreen: Iterable[RecordId] | int = 0,
        total: int | None = None,
        contains: Callable[[RecordId], bool] | None = None,
    ) -> None:
        self._ids: frozenset[RecordId] | None
        if ids is not None:
            if total is not None or contains is not None:
                raise TypeError("RecordSet(ids=…) takes neither total= nor contains=")
            self._ids = held = _record_ids(ids, "ids")
            self.contains: Callable[[RecordId], bool] = held.__contains__
            self.total = len(held)
            if not isinstance(offscreen, int):
                offscreen = len(held & _record_ids(offscreen, "offscreen"))
        else:
            if total is None or not callable(contains):
                raise TypeError("RecordSet needs ids=, or total= and a function contains=")
            self._ids = None
            self.contains = contains
            self.total = _number(total, "total")
        self.offscreen = _number(offscreen, "offscreen")
        if self.offscreen > self.total:
            raise ValueError(f"RecordSet has {self.total} records, and {self.offscreen} of them are off screen")

    @property
    def ids(self) -> frozenset[RecordId] | None:
        """The ids, None when they were not listed."""
        return self._ids

    def counts(self) -> RecordCounts:
        """What an agent is told of it: numbers, which stop at 1,000."""
        return RecordCounts(
            total=min(self.total, COUNTED), offscreen=min(self.offscreen, COUNTED), more=self.total > COUNTED
        )


def _record_ids(values: object, what: str) -> frozenset[RecordId]:
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise TypeError(f"RecordSet({what}=…) is a collection of ids, not {type(values).__name__}")
    ids = tuple(values)
    for id in ids:
        if not is_record_id(id):
            raise TypeError(f"an id in RecordSet({what}=…) is text that is not empty or an integer, not {id!r:.80}")
    return frozenset(ids)


def _number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"RecordSet({what}=…) is a number of records, not {value!r:.80}")
    return value
