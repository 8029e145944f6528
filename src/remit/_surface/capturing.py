"""Puts one snapshot together: what is listed, its version, the route (SPEC 4.9)."""

from collections.abc import Collection, Iterable

from remit._base.closed import one_of
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
    """What a caller of `snapshot` asks for; what cannot be meant is a TypeError or a ValueError that names it."""
    named = _several(effects, "effects")
    return Filter(
        prefixes=_several(prefixes, "prefixes"),
        tags=_several(tags, "tags"),
        effects=None if named is None else frozenset(one_of(Effect, each, "effects") for each in named),
        include_unavailable=include_unavailable,
        budget=_bytes(budget),
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


def _several(names: Collection[str] | None, what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"{what} is a collection, not one text: write [{str(names)!r}]")
    if not isinstance(names, Iterable):
        raise TypeError(f"{what} is a collection of texts, not {type(names).__name__}")
    several = tuple(names)
    if odd := [each for each in several if not isinstance(each, str)]:
        raise TypeError(f"an entry of {what} is text, not {type(odd[0]).__name__}")
    return several


def _bytes(budget: object) -> int | None:
    if budget is None:
        return None
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise ValueError(f"budget is a number of bytes, not {budget!r:.80}")
    return budget
