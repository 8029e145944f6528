"""One consumer's everyday handle on a surface: who is asking is said once (SPEC 6.1)."""

from collections.abc import Collection, Mapping
from typing import Literal, Protocol, overload, runtime_checkable

from remit._model.consumer import Consumer, ConsumerKind, check_consumer
from remit._model.handoff_view import HandoffState
from remit._model.listing import Listed
from remit._model.outcome import Outcome
from remit._model.port import SurfacePort
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.trace import Trace
from remit._toolset.direct import Toolset
from remit._toolset.meta import MetaToolset


@runtime_checkable
class Named(Protocol):
    """A class attribute that stands for its capability: `DevicesTable.select_rows`."""

    @property
    def id(self) -> str:
        """The capability id."""
        ...


class Connection:
    """A surface as one consumer sees it. Code, not a model: it names what is live and pins nothing (SPEC 12.1)."""

    __slots__ = ("_port", "consumer")

    def __init__(self, port: SurfacePort, consumer: Consumer) -> None:
        check_consumer(consumer)
        self._port = port
        self.consumer = consumer

    def capabilities(self) -> tuple[Listed, ...]:
        """All this consumer may see now, available or not."""
        return self._port.snapshot(self.consumer).capabilities()

    async def call(  # noqa: PLR0913 - input is one mapping, options are keywords (FEEL)
        self,
        capability: str | Named,
        input: Mapping[str, object] | None = None,
        *,
        confirmation: str | None = None,
        registration: str | None = None,
        instance: str | None = None,
        id: str | None = None,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
        trace: Trace | None = None,
    ) -> Outcome:
        """Call a capability by id, or by the class attribute that stands for it; never raises for a refusal.

        `confirmation` is evidence, `id` repeats an earlier invocation, `timeout` is in seconds (at most 600),
        `progress` hears how far the running code says it has come (SPEC 6.10), `trace` is the span it is made in.
        """
        capability_id = named_id(capability)
        request = Invocation(
            capability_id,
            input,
            id=id,
            instance=instance,
            registration=registration,
            confirmation=confirmation,
            trace=trace,
        )
        return await self._port.invoke(request, self.consumer, timeout=timeout, progress=progress)

    def handoff(self, id: str) -> HandoffState | None:
        """How the handoff of HANDOFF_REQUIRED stands, and what it gave; None: unknown id, or another consumer's.

        Runs nothing, so it may be asked again and again; `subscribe` tells of `handoff-resolved` (SPEC 11.7).
        """
        return self._port.handoff(id, self.consumer)

    @overload
    def toolset(self, *, mode: Literal["direct"] = "direct", waits: bool | None = None) -> Toolset: ...

    @overload
    def toolset(
        self,
        *,
        mode: Literal["meta"],
        prefixes: Collection[str] | None = None,
        budget: int | None = None,
        waits: bool | None = None,
    ) -> MetaToolset: ...

    def toolset(
        self,
        *,
        mode: Literal["direct", "meta"] = "direct",
        prefixes: Collection[str] | None = None,
        budget: int | None = None,
        waits: bool | None = None,
    ) -> Toolset | MetaToolset:
        """The same as tools for a model; an embedded consumer's waits for the person and answers once (SPEC 7.7).

        Every other one returns CONFIRMATION_REQUIRED, to be repeated with the evidence; `waits` sets it otherwise.

        `mode="direct"`: one tool a capability. `mode="meta"`: three fixed tools, for views with more capabilities than
        a model should carry; `prefixes` is then the most that is shown, `budget` the bytes of one answer (SPEC 12.4).
        """
        if waits is not None and not isinstance(waits, bool):
            raise TypeError(f"toolset(waits=…) takes True or False, not {type(waits).__name__}")
        waits = self.consumer.kind is ConsumerKind.EMBEDDED if waits is None else waits
        if mode == "meta":
            return MetaToolset(self._port, self.consumer, waits=waits, prefixes=prefixes, budget=budget)
        if mode != "direct":
            raise ValueError(f'a toolset has the modes "direct" and "meta", not {mode!r}')
        if prefixes is not None or budget is not None:
            raise TypeError('prefixes and budget belong to toolset(mode="meta"): every tool of a direct one is listed')
        return Toolset(self._port, self.consumer, waits=waits)


def named_id(capability: object) -> str:
    """The id that a text or a class attribute stands for; a TypeError that says what to write for anything else."""
    if isinstance(capability, str):
        return capability
    named = getattr(capability, "id", None)
    if isinstance(named, str) and not isinstance(capability, type):
        return named
    raise TypeError(
        f"{capability!r:.80} names no capability\n"
        '  do  call("view:devices.table.readState") or call(DevicesTable.read_state)'
    )
