"""The seam of a backend: a catalogue lists operations, an operation runs (SPEC 10.1, 10.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from remit._base.boundary import Json, canonical
from remit._base.digest import sha256_hex
from remit._model.context import Context
from remit._model.effects import Confirmation, Effect


class BackendOperation(Protocol):
    """One operation of a backend, with what its catalogue says about it; the contract records the same.

    `confirmation` is what the catalogue demands, None when it leaves that to the effect's default. The schemas are in
    the subset of SPEC 3.5; deriving them may raise DefinitionError, the first time they are asked for.
    """

    @property
    def name(self) -> str:
        """The backend's own name; its capability id is `domain:` and this."""
        ...

    @property
    def effect(self) -> Effect:
        """What one call does."""
        ...

    @property
    def confirmation(self) -> Confirmation | None:
        """The least a reference may ask for."""
        ...

    @property
    def idempotent(self) -> bool:
        """The same input twice leaves the same end state and no extra effect."""
        ...

    @property
    def description(self) -> str:
        """What an agent reads when the reference says nothing else."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Sorted."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Json]:
        """The full input, bound fields included."""
        ...

    @property
    def output_schema(self) -> Mapping[str, Json] | None:
        """What it returns, None when it does not say."""
        ...

    @property
    def request(self) -> str | None:
        """What a call sends, as `POST /devices/disable application/json`; None for a function of this process.

        The contract records it: under one name and one schema, another request is another operation (SPEC 10.2).
        """
        ...

    @property
    def hash(self) -> str:
        """`operation_hash` of the above."""
        ...

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Run it with exactly this input, given also as its canonical bytes; return JSON.

        The input is judged once more. BackendError says how the backend answered (SPEC 10.5); anything else that is
        raised leaves the effect unknown.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One operation that a backend has, opted in or not.

    `request` is how the backend writes it: `POST /devices/disable`, the path of a procedure, the name of a function.
    `operation_id` is a name of its own besides, None without one; `summary` is what it says of it. `name` is the name
    under which it is listed or was meant to be, None where nobody opted in, and `refused` why it is not listed.
    """

    request: str
    operation_id: str | None = None
    summary: str = ""
    name: str | None = None
    refused: str | None = None


class Catalogue(Protocol):
    """A list of operations. A class that means to be one subclasses this by name: the compiler looks for such
    instances at module level (SPEC 10.1)."""

    def get(self, name: str) -> BackendOperation | None:
        """The operation of that name, or None."""
        ...

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        ...

    def refused(self) -> Mapping[str, str]:
        """The names that were meant to be listed and cannot be, each with the reason; `names` has none of them."""
        return {}

    def offers(self) -> tuple[Offer, ...]:
        """All that the backend has: what is listed, what was refused, and what nobody opted in; in its own order.

        A catalogue that knows of nothing else offers what was opted in.
        """
        listed = [Offer(request=name, name=name) for name in self.names()]
        refused = [Offer(request=name, name=name, refused=reason) for name, reason in self.refused().items()]
        return (*listed, *refused)

    def tried(self, request: str) -> BackendOperation | None:
        """What `Offer.request` would be if it were opted in, destructive and described; nothing is listed by asking.

        DefinitionError with the reason for what cannot be listed, None where that is not known.
        """
        return None

    @property
    def opted_in_by(self) -> str | None:
        """The class whose values opt an operation in, as `module.Class`: called with `Offer.request`, `effect=`,
        and `description=` where `Offer.summary` is nothing that an agent may read.

        None where everything that there is was opted in by being written (SPEC 10.2).
        """
        return None

    @property
    def strict_backend(self) -> bool:
        """True when a backend that moved away from the contract stops the start (SPEC 10.2)."""
        return False

    def strict_about(self, name: str) -> bool:
        """Whether a move of this operation stops the start."""
        return self.strict_backend


def is_catalogue(value: object) -> bool:
    """True for an instance of a class that subclasses `Catalogue` by name; looks alike is not enough."""
    return Catalogue in type(value).__mro__


def operation_hash(
    effect: Effect,
    confirmation: Confirmation | None,
    idempotent: bool,
    input_schema: Mapping[str, Json],
    output_schema: Mapping[str, Json] | None,
    request: str | None = None,
) -> str:
    """Return `sha256:…` over what a caller relies on, `request` being what a call sends; texts are no part of it."""
    form: dict[str, Json] = {
        "effect": effect.value,
        "confirmation": None if confirmation is None else confirmation.value,
        "idempotent": idempotent,
        "input": cast(Json, dict(input_schema)),
        "output": None if output_schema is None else cast(Json, dict(output_schema)),
    }
    if request is not None:
        form["request"] = request
    return "sha256:" + sha256_hex(canonical(form))
