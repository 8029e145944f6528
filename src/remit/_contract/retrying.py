"""`retry=`: trying again what may be tried again, within one deadline (SPEC 6.13)."""

import math
from typing import Final

from remit._base.boundary import Json, take
from remit._contract.options import LIMITS, Place
from remit._model.retry import Retry
from remit.errors import DefinitionCode

MOST_ATTEMPTS: Final = 10


def checked_retry(at: Place, written: object) -> Retry | None:
    """Return what was written, or None; DefinitionError for what cannot be meant."""
    if written is None:
        return None
    if not isinstance(written, Retry):
        raise at.wrong(f"retry={written!r} is no Retry", do="write retry=Retry(3)")
    attempts = written.attempts
    if isinstance(attempts, bool) or not isinstance(attempts, int) or not 2 <= attempts <= MOST_ATTEMPTS:
        raise at.wrong(f"retry= has {attempts!r} attempts; it takes 2 to {MOST_ATTEMPTS}", do="the first one counts")
    for name, value, least, most in (
        ("backoff", written.backoff, 0.0, LIMITS.call_max_s),
        ("cap", written.cap, 0.0, LIMITS.call_max_s),
        ("jitter", written.jitter, 0.0, 1.0),
    ):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise at.wrong(f"retry= has the {name} {value!r}, which is no number")
        if not least <= value <= most:
            raise at.wrong(
                f"retry= has the {name} {value:g}; it is from {least:g} to {most:g}", code=DefinitionCode.LIMIT_EXCEEDED
            )
    return written


def check_may_retry(at: Place, retry: Retry | None, *, idempotent: bool) -> None:
    """Refuse to repeat by itself what may do something twice (SPEC 6.13)."""
    if retry is not None and not idempotent:
        raise at.wrong(
            "has retry=, and is not idempotent: a second run may do it twice",
            do="take retry= out; or write idempotent=True, if the same input twice leaves the same end state",
        )


def retry_block(retry: Retry | None) -> Json:
    """Its form in the contract."""
    if retry is None:
        return None
    return take(
        {"attempts": retry.attempts, "backoff": retry.backoff, "cap": retry.cap, "jitter": retry.jitter},
    )[0]
