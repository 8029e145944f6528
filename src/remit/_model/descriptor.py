"""What an agent is told about one capability; never handlers, never state (SPEC 1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._base.nested import holds
from remit._model.effects import Confirmation, Effect, Fidelity, Kind, Source
from remit._model.ids import CapabilityId
from remit._model.outcome import Untrusted
from remit._model.record import PARAM


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Descriptor:
    """The fixed, agent-visible part of a capability.

    `input_schema` is the agent's: bound fields have left it. `bound` names the paths the view fills (never their
    values), `overridable` those of them that an agent may fill instead, which have stayed. `confirmation` is
    the effective level: `always` for a grave effect that is required. `meta` is the author's own JSON, which nothing
    here reads; `untrusted` says that output and note hold text from outside the organisation, or names the fields of
    the output that do (SPEC 3.3, 3.14). `record` is the kind of rows that a folded template acts on, None for
    everything else; then the input has a required property `record`, their id (SPEC 11.6). `handoff` says why only a
    person may do it, None for what an agent may (SPEC 11.7). `source` says who wrote the declaration, `fidelity` how
    well it is known to say what a call does (SPEC 11.9). `steps` are the ids of a flow's steps, none for
    everything else (SPEC 11.8).
    """

    id: CapabilityId
    kind: Kind
    effect: Effect
    component: str
    title: str | None
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None
    idempotent: bool
    reversible: bool | None
    confirmation: Confirmation
    bound: tuple[str, ...] = ()
    overridable: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    meta: Mapping[str, object] | None = None
    untrusted: Untrusted = False
    record: str | None = None
    handoff: str | None = None
    source: Source = Source.DECLARED
    fidelity: Fidelity = Fidelity.HIGH
    steps: tuple[str, ...] = ()

    @property
    def derived(self) -> bool:
        """Whether it was made from a page or a document: hidden unless the site exposes what is (SPEC 11.9)."""
        return self.source is Source.DERIVED

    @property
    def known(self) -> dict[str, str]:
        """`source` and `fidelity`, as far as they are not as usual (SPEC 11.3)."""
        form: dict[str, str] = {} if self.fidelity is Fidelity.HIGH else {"fidelity": self.fidelity.value}
        return form if self.source is Source.DECLARED else {**form, "source": self.source.value}

    @property
    def own_schema(self) -> Mapping[str, object]:
        """The input's schema without the record, which is no field of the operation: as a page's agents see it."""
        return self.input_schema if self.record is None else without_record(self.input_schema)

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the fields that an agent must fill."""
        names = self.input_schema.get("required", ())
        return tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()

    def filled(self, given: Mapping[str, object] | None) -> tuple[str, ...]:
        """The paths that the view fills of a call with this input of the agent's."""
        if not self.overridable or not given:
            return self.bound
        return tuple(path for path in self.bound if path not in self.overridable or not holds(given, path))

    @property
    def plane(self) -> str:
        """`view` or `domain`."""
        return "domain" if self.kind is Kind.REFERENCE else "view"


def without_record(schema: Mapping[str, object]) -> Mapping[str, object]:
    """A template's schema without its property `record` (SPEC 11.6)."""
    properties, required = schema.get("properties"), schema.get("required")
    own = dict(properties) if isinstance(properties, Mapping) else {}
    own.pop(PARAM, None)
    names = [name for name in required if name != PARAM] if isinstance(required, list | tuple) else []
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "properties": own, "required": names} if names else {**rest, "properties": own}
