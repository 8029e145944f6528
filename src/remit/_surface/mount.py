"""The handle on one mount: lives and dies with a part of the view (SPEC 4.1)."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Literal

from remit._base.boundary import NotJson, take
from remit._base.closed import one_of
from remit._model.answering import Answering
from remit._model.request_view import CancelCause
from remit._registry.register import Registrar
from remit._registry.state import Registration
from remit._surface.belonging import Belonging

Status = Literal["mounted", "unmounted", "rejected"]


def identity_of(value: object) -> bytes | None:
    """The canonical form of `mount(identity=…)`; None for none, TypeError for what is no JSON value."""
    if value is None:
        return None
    try:
        return take(value)[1]
    except NotJson as problem:
        raise TypeError(f"mount(identity=…) is a JSON value that names the data shown: {problem.reason}") from None


class Mount:
    """One mount lifetime; a context manager that unmounts at its end.

    A rejected mount is dead from the start: its `registration_id` is None and nothing it does has an effect, least of
    all on the live one of the same name. It is used in the thread of its surface, else it is a RuntimeError.
    """

    __slots__ = ("_belongs", "_registrar", "_registration")

    def __init__(self, registrar: Registrar, registration: Registration | None, belongs: Belonging) -> None:
        self._belongs = belongs
        self._registrar = registrar
        self._registration = registration

    @property
    def registration_id(self) -> str | None:
        """The opaque id of this mount lifetime."""
        return None if self._registration is None else self._registration.id

    @property
    def status(self) -> Status:
        """`mounted`, `unmounted`, or `rejected` (another live mount had the name)."""
        if self._registration is None:
            return "rejected"
        return "mounted" if self._registration.live else "unmounted"

    def update(
        self,
        *,
        enabled: bool | None = None,
        reason: str | None = None,
        available: Mapping[str, Literal[True] | str] | None = None,
    ) -> None:
        """Enable or disable the component with its children, and push availability of single capabilities.

        `available={"select_rows": "why not"}` lowers one, `True` takes that back; a push never raises what a predicate
        or a policy lowers. An unknown name is a DefinitionError.
        """
        self._belongs.check_thread()
        if self._registration is not None and self._registration.live:
            self._registrar.update(self._registration, enabled=enabled, reason=reason, available=available)

    def invalidate(self) -> None:
        """Say that what agents know of this component is old: their version moves."""
        self._belongs.check_thread()
        if self._registration is not None and self._registration.live:
            self._registrar.invalidate(self._registration)

    def unmount(self, cause: CancelCause = CancelCause.UNMOUNTED) -> None:
        """End this mount, children first; twice is a no-op."""
        self._belongs.check_thread()
        cause = one_of(CancelCause, cause, "unmount(cause=…)")
        if self._registration is not None:
            self._registrar.unmount(self._registration, cause)

    def _answered(self, answering: Answering) -> None:
        """Let a page answer in the place of the component's methods, as `remit.gateway.bridge` needs it."""
        if self._registration is not None and self._registration.live:
            self._registrar.answered(self._registration, answering)

    def _in_own(self, callback: Callable[[], None]) -> None:
        """Call it in the surface's thread, as `remit.integrations` needs it and nobody else; never, after its loop."""
        self._belongs.in_own(callback)

    def __enter__(self) -> "Mount":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.unmount()


def registration_of(parent: object, registrar: Registrar) -> Registration | None:
    """The registration of a parent on the same surface; None when it was rejected (SPEC 4.1)."""
    if not isinstance(parent, Mount):
        raise TypeError("mount(parent=…) takes the Mount of the component above, as surface.mount(…) returned it")
    if parent._registrar is not registrar:
        raise ValueError("mount(parent=…) is a mount of another surface: a view is mounted on one")
    return parent._registration


def refuse_class(component: object) -> None:
    """Raise TypeError where a class was given and one of its instances is meant."""
    if isinstance(component, type):
        name = component.__name__
        raise TypeError(
            f"surface.mount({name}) got the class\n"
            f"  do  surface.mount({name}(…)): the instance is what lives and dies with the view"
        )
