"""What one consumer may see at one instant (SPEC 4.9)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._model.descriptor import Descriptor
from remit._model.effects import Kind
from remit._model.ids import RegistrationId, SurfaceId
from remit._model.outcome import untrusted_to_json
from remit._model.page_id import PageId
from remit._model.record import RecordCounts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Listed:
    """One visible capability of one live registration, with its live state beside the fixed descriptor.

    `reason` says why it is not available, `note` is the author's live text; both are data, one line. `priority` is that
    of its registration. `scope_path` are the types of the components in which it is mounted, the outermost first,
    without its own. `records` counts what a folded template may be called for now, None for everything else (SPEC
    11.6).
    """

    descriptor: Descriptor
    registration: RegistrationId
    instance: str
    available: bool = True
    reason: str | None = None
    note: str | None = None
    priority: int = 0
    scope_path: tuple[str, ...] = ()
    records: RecordCounts | None = None

    @property
    def offscreen(self) -> bool:
        """True when some of its records are not shown: they can be acted on all the same, by their id."""
        return self.records is not None and self.records.offscreen > 0

    @property
    def page_id(self) -> PageId:
        """The whole page id: with its kind and its instance (SPEC 11.5)."""
        descriptor = self.descriptor
        refers = descriptor.kind is Kind.REFERENCE
        address = f"{descriptor.component}/{self.instance}" if refers else self.instance
        return PageId(capability=descriptor.id, kind=descriptor.record, instance=address)

    @property
    def id(self) -> str:
        """The capability id."""
        return self.descriptor.id

    def to_json(self) -> dict[str, object]:
        """A fresh JSON-able form; schemas are shared and must not be changed."""
        descriptor = self.descriptor
        form: dict[str, object] = {
            "id": descriptor.id,
            "kind": descriptor.kind.value,
            "effect": descriptor.effect.value,
            "title": descriptor.title,
            "description": descriptor.description,
            "inputSchema": descriptor.input_schema,
            "outputSchema": descriptor.output_schema,
            "idempotent": descriptor.idempotent,
            "reversible": descriptor.reversible,
            "confirmation": descriptor.confirmation.value,
            "tags": list(descriptor.tags),
            "registration": self.registration,
            "instance": self.instance,
            "available": self.available,
        }
        if descriptor.kind is Kind.REFERENCE:
            form["component"] = descriptor.component
            form["bound"] = [{"path": path, "locked": path not in descriptor.overridable} for path in descriptor.bound]
        if descriptor.meta is not None:
            form["meta"] = descriptor.meta
        if descriptor.untrusted:
            form["untrusted"] = untrusted_to_json(descriptor.untrusted)
        if descriptor.handoff is not None:
            form["handoff"] = {"reason": descriptor.handoff}
        form.update(descriptor.known)
        if descriptor.steps:
            form["composite"] = True
            form["flowSteps"] = len(descriptor.steps)
        if self.scope_path:
            form["scopePath"] = list(self.scope_path)
        if self.records is not None:
            form["record"] = self.records.to_json()
        if self.reason is not None:
            form["reason"] = self.reason
        if self.note is not None:
            form["note"] = self.note
        return form


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListedComponent:
    """One live component of which the consumer may see at least one capability."""

    type: str
    instance: str
    registration: RegistrationId
    title: str | None
    description: str
    priority: int
    capabilities: tuple[Listed, ...]

    def to_json(self) -> dict[str, object]:
        """A fresh JSON-able form."""
        return {
            "type": self.type,
            "instance": self.instance,
            "registration": self.registration,
            "title": self.title,
            "description": self.description,
            "capabilities": [listed.to_json() for listed in self.capabilities],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """An immutable capture of the surface for one consumer.

    `captured_at` is an ISO 8601 UTC time; components are ordered by priority (descending), type, instance; references
    stand at top level and link to their component by registration. `dropped` counts the capabilities that a budget left
    out.
    """

    surface_id: SurfaceId
    surface_version: str
    captured_at: str
    route: str | None
    components: tuple[ListedComponent, ...]
    references: tuple[Listed, ...]
    dropped: int = 0

    def capabilities(self) -> tuple[Listed, ...]:
        """All visible capabilities: those of components in order, then references."""
        return (*(listed for component in self.components for listed in component.capabilities), *self.references)

    def to_json(self) -> Mapping[str, object]:
        """A fresh JSON-able form of the whole."""
        return {
            "surfaceId": self.surface_id,
            "surfaceVersion": self.surface_version,
            "capturedAt": self.captured_at,
            "route": self.route,
            "components": [component.to_json() for component in self.components],
            "references": [listed.to_json() for listed in self.references],
            **({"dropped": self.dropped} if self.dropped else {}),
        }
