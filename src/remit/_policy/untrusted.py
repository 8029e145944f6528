"""What follows for an agent that has read text from outside (SPEC 11.15)."""

from collections.abc import Iterable
from typing import Final

from remit._model.consumer import ConsumerKind
from remit._model.effects import Confirmation

AFTER_UNTRUSTED: Final = "after-untrusted"
NETWORK_DOORS: Final = tuple(kind for kind in ConsumerKind if not kind.in_process)
"""Where every surface has the built-in policy by itself."""

_ASKED: Final = frozenset({Confirmation.OPTIONAL, Confirmation.REQUIRED})


def asks(confirmation: Confirmation) -> bool:
    """Whether such an agent needs a fresh decision: `optional` counts as `required`, and no standing approval counts.

    `never` asks nobody, and `always` asks afresh in any case.
    """
    return confirmation in _ASKED


def by_itself(policies: Iterable[str]) -> frozenset[str]:
    """The doors at which a surface with policies of these names asks by itself: none once one is said by name."""
    said = any(name.partition(":")[0] == AFTER_UNTRUSTED for name in policies)
    return frozenset() if said else frozenset(kind.value for kind in NETWORK_DOORS)
