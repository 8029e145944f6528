"""Puts one snapshot together: what is listed, its version, the route (SPEC 4.9)."""

from collections.abc import Collection

from remit._model.consumer import Consumer
from remit._model.effects import Effect
from remit._model.ids import SurfaceId
from remit._model.listing import Snapshot
from remit._registry.narrow import Filter, Narrowed, narrow
from remit._registry.snapshot import Capture, capture
from remit._surface.wiring import Wired
from remit.errors import Refusal


def filter_of(
    prefixes: Collection[str] | None,
    tags: Collection[str] | None,
    effects: Collection[Effect | str] | None,
    include_unavailable: bool,
    budget: int | None,
) -> Filter:
    """What a caller of `snapshot` asks for; one text where several belong is a TypeError."""
    return Filter(
        prefixes=_several(prefixes, "prefixes"),
        tags=_several(tags, "tags"),
        effects=None if effects is None else frozenset(Effect(effect) for effect in effects),
        include_unavailable=include_unavailable,
        budget=budget,
    )


def snapshot_of(parts: Wired, consumer: Consumer, wanted: Filter, *, surface_id: SurfaceId, ended: bool) -> Snapshot:
    """What the consumer may see now; nothing once the surface has ended or its person has gone."""
    shown, version = Narrowed((), ()), parts.versions.known(consumer)
    captured = None if ended else _captured(parts, consumer)
    if captured is not None:
        shown, version = narrow(captured[0], wanted), captured[1]
    return Snapshot(
        surface_id=surface_id,
        surface_version=version,
        captured_at=parts.parts.clock.now().isoformat(),
        route=None if parts.registry.suspended.has_consumer(consumer.key) else parts.registry.route,
        components=shown.components,
        references=shown.references,
        dropped=shown.dropped,
    )


def _captured(parts: Wired, consumer: Consumer) -> tuple[Capture, str] | None:
    try:
        viewer = parts.viewers.of(consumer)
    except Refusal:
        return None
    captured = capture(parts.registry, viewer)
    version = parts.versions.captured(viewer, captured.fingerprint)
    parts.shown.told(consumer.key, version, captured)
    return captured, version


def _several(names: Collection[str] | None, what: str) -> Collection[str] | None:
    if isinstance(names, str):
        raise TypeError(f"{what} is a collection, not one text: write [{names!r}]")
    return names
