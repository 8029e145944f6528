"""What a listing holds for one consumer, and the number by which listings are told apart (SPEC 2.6, 4.9)."""

from dataclasses import dataclass

from remit._base.text import clean_line
from remit._model.effects import Kind
from remit._model.listing import Listed, ListedComponent
from remit._model.record import NO_RECORDS, RecordCounts
from remit._registry.entered import Raised
from remit._registry.records import Missing, counts
from remit._registry.state import Bound, Entry, Registration
from remit._registry.state import State as Registry
from remit._registry.viewer import Viewer
from remit._registry.visibility import Sight, State, see


@dataclass(frozen=True, slots=True, eq=False)
class Capture:
    """The visible part of the registry, and its fingerprint: equal fingerprints, equal version."""

    components: tuple[ListedComponent, ...]
    references: tuple[Listed, ...]
    fingerprint: tuple[int, ...]


def capture(registry: Registry, viewer: Viewer) -> Capture:
    """List what this consumer may see now, in order; runs predicates, notes and `.records`, no handler, no I/O."""
    if viewer.expired:
        return Capture((), (), ())
    components: list[ListedComponent] = []
    references: list[Listed] = []
    marks: list[int] = []
    key = viewer.consumer.key
    for registration in registry.in_order():
        entry = registration.entry
        if entry is None or entry.viewer is not viewer:
            entry = _entry(registration, viewer)
        if not entry.marks:
            continue
        if not entry.told:
            registration.show_to(key, _ids(entry))
            entry.told = True
        if entry.component is not None:
            components.append(entry.component)
        if entry.references:
            references += entry.references
        marks += entry.marks
    return Capture(tuple(components), tuple(references), tuple(marks))


def fingerprint(registry: Registry, viewer: Viewer) -> tuple[int, ...]:
    """The fingerprint of what `capture` would list, without building it and without telling who was shown it."""
    if viewer.expired:
        return ()
    marks: list[int] = []
    for registration in registry.in_order():
        entry = registration.entry
        if entry is not None and entry.viewer is viewer:
            marks += entry.marks
            continue
        for bound in registration.bounds:
            sight = see(bound, viewer)
            if sight.state is not State.HIDDEN:
                marks.append(_mark(bound, sight))
    return tuple(marks)


def _entry(registration: Registration, viewer: Viewer) -> Entry:
    own: list[Listed] = []
    references: list[Listed] = []
    marks: list[int] = []
    for bound in registration.bounds:
        sight = see(bound, viewer)
        if sight.state is State.HIDDEN:
            continue
        (references if bound.plan.descriptor.kind is Kind.REFERENCE else own).append(_listed(bound, sight, viewer))
        marks.append(_mark(bound, sight))
    entry = Entry(
        viewer=viewer,
        component=_component(registration, tuple(own)) if own else None,
        references=tuple(references),
        marks=tuple(marks),
    )
    if registration.steady:
        registration.entry = entry
    return entry


def _ids(entry: Entry) -> frozenset[str]:
    own = () if entry.component is None else entry.component.capabilities
    return frozenset(listed.id for listed in (*own, *entry.references))


def _mark(bound: Bound, sight: Sight) -> int:
    # The sign carries availability by enable, push and policy; lazily evaluated predicates are state and do not count.
    return bound.mark if sight.state is State.AVAILABLE or not sight.settled else -bound.mark


def _listed(bound: Bound, sight: Sight, viewer: Viewer) -> Listed:
    available = sight.state is State.AVAILABLE
    note = None if bound.plan.note is None else _note(bound, viewer)
    if note is not None and bound.plan.descriptor.untrusted is True:
        viewer.site.outside.read(viewer.consumer, bound.plan.descriptor.id, viewer.principal)
    if available and note is None and bound.plan.template is None:
        return bound.listed
    return Listed(
        descriptor=bound.plan.descriptor,
        registration=bound.registration.id,
        instance=bound.registration.instance,
        available=available,
        reason=sight.reason,
        note=note,
        priority=bound.registration.priority,
        scope_path=bound.registration.region,
        records=records_of(bound, viewer)[0],
    )


def records_of(bound: Bound, viewer: Viewer) -> tuple[RecordCounts | None, str | None]:
    """How many records a listing says this consumer may reach, None for what is no template; and why there are none.

    Where it is not known, none may be reached (SPEC 11.6).
    """
    template = bound.plan.template
    if template is None:
        return None, None
    found = counts(bound, template, viewer)
    return (NO_RECORDS, found.why) if isinstance(found, Missing) else (found, None)


def _note(bound: Bound, viewer: Viewer) -> str | None:
    assert bound.plan.note is not None
    text = viewer.site.entered.attempt(bound.plan.note, bound.registration.component)
    return None if text is None or isinstance(text, Raised) else clean_line(text, viewer.site.limits.note)


def _component(registration: Registration, capabilities: tuple[Listed, ...]) -> ListedComponent:
    sealed = registration.sealed
    return ListedComponent(
        type=sealed.type,
        instance=registration.instance,
        registration=registration.id,
        title=sealed.title,
        description=sealed.description,
        priority=registration.priority,
        capabilities=capabilities,
    )
