"""What a redactor is given: a value on its way to a reader (SPEC 3.1, 9.2)."""

from dataclasses import dataclass
from enum import StrEnum

from remit._base.boundary import Json


class PayloadPart(StrEnum):
    """Which value of a call it is."""

    INPUT = "input"
    OUTPUT = "output"


class PayloadReader(StrEnum):
    """Who would see it."""

    AGENT = "agent"
    JOURNAL = "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A value of one call, and who would see it, for the function attached by `.redact`.

    `value` is JSON and a copy of the redactor's own: it may change it. An output meant for the agent is given before
    its schema is checked; input and output meant for the journal only at `audit="full"`, and the output as the agent
    got it.
    """

    value: Json
    part: PayloadPart
    reader: PayloadReader
