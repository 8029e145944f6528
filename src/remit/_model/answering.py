"""Who answers for a mounted component in the place of its own methods: a page in a browser (SPEC 14.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from remit._base.boundary import Json
from remit._model.context import Context


@dataclass(frozen=True, slots=True)
class Answered:
    """What a page says that its handler gave: JSON of nobody's type yet, and a claim."""

    value: Json


class Answering(Protocol):
    """Runs what a page has handlers for."""

    async def answer(self, attribute: str, input: Mapping[str, Json], context: Context) -> Answered:
        """Let the page run one capability with exactly this input; what it raises ends the call as a handler's would.

        Cancelled, it tells the page to stop, and does not wait for it.
        """
        ...
