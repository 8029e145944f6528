"""What never becomes a field of a derived capability: passwords, files, payment, hidden fields (SPEC 11.9)."""

from dataclasses import dataclass
from typing import Final

from remit._contract.denied import is_denied

HIDDEN: Final = "hidden: the page fills it, not a person"
_TYPES: Final = {"password": "a password", "hidden": HIDDEN, "file": "a file"}
_PAYMENT: Final = (
    "bankaccount bic cardcode cardexpiry cardholder cardnumber cardpin ccexp ccname ccnumber ccv creditcard csc cvc "
    "cvv cvv2 debitcard iban routingnumber sortcode"
).split()
"""Ends of names, lower-cased and without `_` and `-`, under which people pay."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One field that is left out, and why."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} ({self.why})"


def why_skipped(name: str, *, type: str = "", autocomplete: str = "") -> str | None:
    """Why a field of this name, of this type of HTML control, is left out; None for one that is taken."""
    words = autocomplete.lower().split()
    if (found := _TYPES.get(type)) is not None:
        return found
    if any(word in {"current-password", "new-password", "one-time-code"} for word in words):
        return _TYPES["password"]
    plain = name.lower().replace("_", "").replace("-", "")
    if any(word.startswith("cc-") for word in words) or plain.endswith(tuple(_PAYMENT)):
        return "payment"
    return "its name is one of those that never reach an agent" if is_denied(name) else None
