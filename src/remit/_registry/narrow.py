"""Part of a listing: what was asked for, and what fits a budget (SPEC 4.9)."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from remit._model.effects import Effect
from remit._model.ids import RegistrationId
from remit._model.listing import Listed, ListedComponent
from remit._model.prefix import begins
from remit._registry.snapshot import Capture


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What of a listing is asked for; None does not restrict.

    A prefix with a plane (`view:devices`) is held against capability ids, one without (`devices`) against component
    types, both in whole segments. `tags` and `effects` are alternatives; `budget` is bytes of UTF-8 JSON.
    """

    prefixes: Collection[str] | None = None
    tags: Collection[str] | None = None
    effects: Collection[Effect] | None = None
    include_unavailable: bool = True
    budget: int | None = None

    @property
    def passes_all(self) -> bool:
        """True when nothing is left out."""
        return self == _ALL

    def wants(self, listed: Listed) -> bool:
        """Whether one capability is asked for."""
        descriptor = listed.descriptor
        return (
            (self.include_unavailable or listed.available)
            and (self.effects is None or descriptor.effect in self.effects)
            and (self.tags is None or not set(self.tags).isdisjoint(descriptor.tags))
            and (self.prefixes is None or any(begins(listed, prefix) for prefix in self.prefixes))
        )


_ALL = Filter()


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """What is left of a listing; `dropped` counts the capabilities that the budget left out."""

    components: tuple[ListedComponent, ...]
    references: tuple[Listed, ...]
    dropped: int = 0


def narrow(captured: Capture, wanted: Filter) -> Narrowed:
    """Leave out what was not asked for, then whole registrations beyond the budget, lowest priority first."""
    if wanted.passes_all:
        return Narrowed(captured.components, captured.references)
    components = tuple(_asked(captured.components, wanted))
    references = tuple(listed for listed in captured.references if wanted.wants(listed))
    if wanted.budget is None:
        return Narrowed(components, references)
    kept = _fitting(components, references, wanted.budget)
    in_budget = tuple(component for component in components if component.registration in kept)
    refs = tuple(listed for listed in references if listed.registration in kept)
    return Narrowed(in_budget, refs, _count(components, references) - _count(in_budget, refs))


def _asked(components: Iterable[ListedComponent], wanted: Filter) -> Iterable[ListedComponent]:
    for component in components:
        own = tuple(listed for listed in component.capabilities if wanted.wants(listed))
        if own:
            yield component if len(own) == len(component.capabilities) else replace(component, capabilities=own)


def _fitting(
    components: Sequence[ListedComponent], references: Sequence[Listed], budget: int
) -> frozenset[RegistrationId]:
    """The registrations that fit, by priority (descending), type, instance; the first that does not fit is the end."""
    sizes: dict[RegistrationId, int] = {}
    ranks: dict[RegistrationId, tuple[int, str, str]] = {}
    for component in components:
        sizes[component.registration] = _bytes(component.to_json())
        ranks[component.registration] = (-component.priority, component.type, component.instance)
    for listed in references:
        sizes[listed.registration] = sizes.get(listed.registration, 0) + _bytes(listed.to_json())
        ranks.setdefault(listed.registration, (-listed.priority, listed.descriptor.component, listed.instance))
    kept: list[RegistrationId] = []
    for registration in sorted(sizes, key=ranks.__getitem__):
        budget -= sizes[registration]
        if budget < 0:
            break
        kept.append(registration)
    return frozenset(kept)


def _count(components: Iterable[ListedComponent], references: Sequence[Listed]) -> int:
    return sum(len(component.capabilities) for component in components) + len(references)


def _bytes(form: object) -> int:
    return len(json.dumps(form, ensure_ascii=False, separators=(",", ":"), default=dict).encode())
