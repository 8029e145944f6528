"""A backend operation made available in a view (SPEC 10)."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self

from remit._contract.capability import Capability, TextT, ValueT, check_function, place_of_caller
from remit._contract.concurrency import Concurrency
from remit._contract.options import (
    AuditName,
    ConfirmationName,
    Door,
    FidelityName,
    Options,
    Place,
    SourceName,
    checked_names,
    written_options,
)
from remit._contract.plan import NamedPolicy
from remit._model.answers import Handoff
from remit._model.effects import Kind
from remit._model.ids import check_domain_id
from remit._model.retry import Retry

_PATH: Final = re.compile(r"[^\s.\[\]]{1,128}(\.[^\s.\[\]]{1,128}){0,7}")


class Reference(Capability):
    """An operation of a backend, offered while the component is mounted; it has no code of its own."""

    __slots__ = ("_target",)
    kind = Kind.REFERENCE

    def __init__(self, target: str, options: Options, place: str | None) -> None:
        super().__init__(options, place)
        self._target = target

    def __get__(self, instance: object, owner: type | None = None, /) -> Self:
        return self

    def __repr__(self) -> str:
        return str(self._target)

    @property
    def target(self) -> str:
        """The `domain:…` id as it was written; judged with the class."""
        return self._target

    @property
    def operation(self) -> str:
        """The backend's own name for it."""
        return check_domain_id(self._target, place=self._place).removeprefix("domain:")

    @property
    def at(self) -> Place:
        """The subject and place that errors name."""
        return Place(subject=str(self._target), place=self._place)

    def bind(self, path: str) -> Callable[[ValueT], ValueT]:
        """Fill one field of the input from the view, at call time; the field leaves the agent's schema and is locked.

        `filter.region` is the field `region` of the object `filter`; a list has no such fields and is bound as a whole.
        Named in the reference's `overridable=` it stays, optional, and an agent's value wins. The decorated function is
        a plain function of the instance that returns the value (SPEC 10.3).
        """

        def attach(function: ValueT) -> ValueT:
            at = self._open_for("bind")
            if not isinstance(path, str) or not _PATH.fullmatch(path):
                raise at.wrong(
                    f"bind({path!r}) names no field of the input",
                    do='write for example .bind("device_ids"), or .bind("filter.region"); a list is bound as a whole',
                )
            if path in self._bindings:
                raise at.wrong(f"the field {path!r} is bound twice", do="keep one")
            for other in self._bindings:
                if other.startswith(f"{path}.") or path.startswith(f"{other}."):
                    outer, inner = sorted((other, path), key=len)
                    raise at.wrong(f"binds {outer!r} and, inside of it, {inner!r}", do="keep one")
            check_function(at, "bind", function, only_self=True)
            self._bindings[path] = function
            return function

        return attach

    def summary(self, function: TextT) -> TextT:
        """Attach the sentence a person reads beside the exact input; None for no sentence."""
        return self._attach("summary", function)


def checked_overridable(reference: Reference) -> tuple[str, ...]:
    """Return the bound fields that an agent may fill all the same; a name that is not bound is refused (SPEC 10.3)."""
    names = checked_names(reference.at, "overridable", reference.options.overridable)
    for name in names:
        if name not in reference.bindings:
            bound = ", ".join(sorted(reference.bindings)) or "(no field)"
            raise reference.at.wrong(
                f"overridable= names {name!r}, which no binding fills", do=f"name one of {bound}, or bind it"
            )
    return names


def reference(  # noqa: PLR0913 - one keyword a field of the contract
    id: str,
    *,
    title: str | None = None,
    description: str | None = None,
    idempotent: bool | None = None,
    reversible: bool | None = None,
    confirmation: ConfirmationName | None = None,
    approver: str | None = None,
    audit: AuditName | None = None,
    timeout: float | None = None,
    spend_time: float | None = None,
    policies: Iterable[NamedPolicy] = (),
    tags: Iterable[str] = (),
    doors: Iterable[Door] | None = None,
    deprecated: bool = False,
    meta: Mapping[str, object] | None = None,
    untrusted: bool | Iterable[str] = False,
    reason: str | None = None,
    may_vary: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    overridable: Iterable[str] = (),
    handoff: Handoff | None = None,
    concurrency: Concurrency | None = None,
    retry: Retry | None = None,
    allow_names: Mapping[str, str] | None = None,
    source: SourceName = "declared",
    fidelity: FidelityName | None = None,
) -> Reference:
    """Offer the backend operation `domain:<path>` while the component is mounted.

    Effect, description and schemas are the catalogue's. `confirmation` may raise what the effect asks for; lowering it
    needs a literal `reason=` and never goes below what the catalogue itself demands. `approver` is the grant of those
    who may approve; without it the principal does. `timeout` and `spend_time` are seconds. `may_vary` names fields that
    a person may leave free when approving for the session (SPEC 7.9), `sensitive` fields, bound ones too, whose values
    are neither shown nor kept (SPEC 3.3, 3.4, 7.2). `overridable` names bound fields that stay in the agent's schema,
    optional: what the agent sends wins, else the view fills them (SPEC 10.3). `handoff` makes it a step that only a
    person may do, in the application (SPEC 11.7). Calls of one operation and
    registration take turns unless `concurrency` says otherwise; `retry` is for what is idempotent, and the backend gets
    one idempotency key for all attempts (SPEC 6.6, 6.13). `untrusted`, `meta`, `allow_names`, `source` and `fidelity`
    are as for observations (SPEC 3.14, 3.3, 11.10, 11.9); below high fidelity, a person decides about what is no read.
    """
    options = written_options(locals())
    return Reference(id, options, place_of_caller())
