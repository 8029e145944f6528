"""The steps of a flow, as its method runs them, and how many are done (SPEC 11.8)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from remit.errors import AgentError


class StepsDone(NamedTuple):
    """How many steps of a flow are done, of how many it declares; as text `1 of 3`."""

    done: int
    of: int

    def __str__(self) -> str:
        return f"{self.done} of {self.of}"

    def to_json(self) -> dict[str, int]:
        """`{"done": 1, "of": 3}`."""
        return {"done": self.done, "of": self.of}


class StepRefused(Exception):
    """A step of a flow was refused or failed, and with it the flow has, whatever its method does about it.

    Catch it to take back what the method itself has done in the view, and raise it again. `error` is the answer of the
    step, in the agent's terms; `step` is its capability id, `steps` how many are done.
    """

    def __init__(self, step: str, error: AgentError, steps: StepsDone) -> None:
        super().__init__(f"{step}: {error.code.value}; {steps}")
        self.step = step
        self.error = error
        self.steps = steps


class Steps:
    """The declared steps of a flow, in their order: a parameter annotated with it gets them (SPEC 11.8).

    Only a `@flow` has such a parameter, and each has exactly one.
    """

    __slots__ = ("_count", "_next")

    def __init__(
        self,
        next: Callable[[Mapping[str, object] | None], Awaitable[Any]],
        count: Callable[[], StepsDone],
    ) -> None:
        self._next = next
        self._count = count

    @property
    def done(self) -> int:
        """How many are done."""
        return self._count().done

    @property
    def of(self) -> int:
        """How many are declared."""
        return self._count().of

    async def run(self, input: Mapping[str, object] | None = None) -> Any:
        """Run the next declared step with this input, as a call of its own, and return its output, which is JSON.

        The step is seen, authorized, confirmed and admitted by itself, for the consumer of the flow. Where it is
        refused or fails, `StepRefused` ends the flow. Where a person has to act first, this waits: the flow answers its
        caller, and goes on when that person has (SPEC 11.8). One step at a time, and no more than are declared, else it
        is a `RuntimeError`.
        """
        return await self._next(input)
