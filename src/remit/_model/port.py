"""The one waist: everything outside reaches the runtime through this port (DESIGN 1.2)."""

from collections.abc import Callable, Collection
from typing import Protocol

from remit._model.consumer import Consumer
from remit._model.event import EventListener, EventType
from remit._model.handoff_view import HandoffState
from remit._model.listing import Snapshot
from remit._model.outcome import Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.request_view import ConfirmationStatus


class SurfacePort(Protocol):
    """What a door needs of a surface, here or elsewhere."""

    @property
    def surface_id(self) -> str:
        """The opaque id of the surface."""
        ...

    def snapshot(self, consumer: Consumer) -> Snapshot:
        """Capture what this consumer may see now; pure, no handler runs."""
        ...

    async def invoke(
        self,
        invocation: Invocation,
        consumer: Consumer,
        *,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> Outcome:
        """Run one call through the pipeline; never raises for what an agent can cause. `timeout` in seconds.

        `progress` hears, while the call runs, how far its code says it has come.
        """
        ...

    async def continue_(
        self, confirmation_id: str, consumer: Consumer, *, progress: ProgressListener | None = None
    ) -> Outcome:
        """Run the stored exact call of a request again, with the request as evidence; decides nothing."""
        ...

    async def decided(self, confirmation_id: str, consumer: Consumer, *, timeout: float) -> ConfirmationStatus | None:
        """Wait at most `timeout` seconds until the request is no longer pending; None: unknown id, or another's."""
        ...

    async def withdraw(self, confirmation_id: str, consumer: Consumer) -> bool:
        """End a pending request of this consumer (cancelled, cause `withdrawn`); False when there was none."""
        ...

    def handoff(self, handoff_id: str, consumer: Consumer) -> HandoffState | None:
        """How a handoff of this consumer stands; None: unknown id, another's, or out of its reach now."""
        ...

    def cancel(self, invocation_id: str, consumer: Consumer) -> bool:
        """Cancel a running call of this consumer; False when there was none."""
        ...

    def subscribe(
        self, listener: EventListener, *, types: Collection[EventType] | None = None, consumer: Consumer | None = None
    ) -> Callable[[], None]:
        """Hear events after they happened; with `consumer`, only what that consumer may hear. Returns the end of it."""
        ...
