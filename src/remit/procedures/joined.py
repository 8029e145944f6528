"""Several catalogues as one: what a surface, a gateway and the testing kit are given as `procedures=` (SPEC 10.1)."""

from collections.abc import Mapping, Sequence

from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.catalogue import BackendOperation, Catalogue, Offer


class JoinedCatalogue(Catalogue):
    """Catalogues side by side, each with its own credentials and strictness.

    Two that list one name are a DefinitionError that names both.
    """

    def __init__(self, catalogues: Sequence[Catalogue]) -> None:
        self._catalogues = tuple(catalogues)
        of: dict[str, str] = {}
        for place, catalogue in enumerate(self._catalogues):
            shown = f"procedures[{place}] ({type(catalogue).__name__})"
            for name in catalogue.names():
                if name in of:
                    raise DefinitionError(
                        DefinitionCode.DUPLICATE_CAPABILITY,
                        f"domain:{name}",
                        f"two catalogues list it: {of[name]} and {shown}",
                        do="leave it out of one of them, or give it another name",
                    )
                of[name] = shown

    def get(self, name: str) -> BackendOperation | None:
        """The operation of that name, or None."""
        found = (catalogue.get(name) for catalogue in self._catalogues)
        return next((operation for operation in found if operation is not None), None)

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted({name for catalogue in self._catalogues for name in catalogue.names()}))

    def refused(self) -> Mapping[str, str]:
        """The names that were meant to be listed and that none of them lists, each with the reason."""
        refused = {name: why for catalogue in self._catalogues for name, why in catalogue.refused().items()}
        return {name: why for name, why in refused.items() if self.get(name) is None}

    def offers(self) -> tuple[Offer, ...]:
        """All that the backends have, one backend after another."""
        return tuple(offer for catalogue in self._catalogues for offer in catalogue.offers())

    @property
    def strict_backend(self) -> bool:
        """True when one of them is strict."""
        return any(catalogue.strict_backend for catalogue in self._catalogues)

    def strict_about(self, name: str) -> bool:
        """As the catalogue says that lists the name or refused it; for one that none of them knows, when one is."""
        knows = (each for each in self._catalogues if each.get(name) is not None or name in each.refused())
        owner = next(knows, None)
        return self.strict_backend if owner is None else owner.strict_about(name)
