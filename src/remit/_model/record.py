"""A record: the row that a folded row action is called for, as plain values (SPEC 11.6)."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeGuard

RecordId: TypeAlias = str | int

PARAM: Final = "record"
"""The property under which every door and every call names the record, whatever the author's parameter is called."""

COUNTED: Final = 1_000
"""Rows that are counted; of more it is only said that there are more."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def is_record_id(value: object) -> TypeGuard[RecordId]:
    """Whether a value can name a record: text that is not empty, or an integer; `True` is none (SPEC 11.6)."""
    if isinstance(value, str):
        return value != ""
    return isinstance(value, int) and not isinstance(value, bool)


def kind_of(name: str) -> str | None:
    """The kind of page ids that a record's parameter name stands for, `order_line` → `order-line`; None for no name."""
    return name.replace("_", "-") if _NAME.fullmatch(name) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCounts:
    """How many records one session may reach through a template now, and how many of them the view does not show.

    Both stop at 1,000; `more` says that `total` would be larger. Counts are state: they move no version (SPEC 2.6).
    """

    total: int
    offscreen: int = 0
    more: bool = False

    def to_json(self) -> dict[str, object]:
        """`{"param": "record", "total": 48, "offscreen": 12}`, with `"more": true` above 1,000."""
        form: dict[str, object] = {"param": PARAM, "total": self.total, "offscreen": self.offscreen}
        return {**form, "more": True} if self.more else form


NO_RECORDS: Final = RecordCounts(total=0)
