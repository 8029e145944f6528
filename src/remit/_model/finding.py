"""What an operator should look at before people use a surface (SPEC 4.13)."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """The closed set of what `surface.findings()` looks for."""

    NOBODY_DECIDES = "nobody-decides"
    NO_AUDIT_SINK = "no-audit-sink"
    EXPOSES_NOTHING = "exposes-nothing"
    LOOSENED_LIMIT = "loosened-limit"
    MEMORY_STORE = "memory-store"
    DEVELOPMENT_KEY = "development-key"
    SLOW_INLINE = "slow-inline"
    WRONG_RECORDS = "wrong-records"
    BACKEND_MOVED = "backend-moved"
    BOTH_PLANES = "both-planes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceFinding:
    """One thing about a surface that is allowed and probably not meant; for operators, never for agents.

    `found` says what is so, `do` what to do about it.
    """

    kind: FindingKind
    found: str
    do: str

    def __str__(self) -> str:
        """As an operator reads it: `finding  …`, and `do  …` on a line of its own."""
        return f"finding  {self.found}\n  do  {self.do}"
