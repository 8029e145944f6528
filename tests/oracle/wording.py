"""Calls and answers in the words of the other side, and of the story."""

import json

from remit import Invocation
from remit.errors import AgentError, ErrorCode
from tests.oracle.world import Asked


def invocation_of(asked: Asked, version: str | None) -> Invocation:
    """The call as the product takes it."""
    return Invocation(
        asked.capability,
        json.loads(asked.raw),
        id=asked.invocation,
        instance=asked.instance,
        registration=asked.registration,
        surface_id=asked.surface,
        surface_version=version,
        confirmation=asked.evidence,
    )


def in_words(asked: Asked) -> str:
    """The call on one line."""
    named = ("instance", "registration", "surface", "version", "invocation", "evidence")
    said = [f"{name}={getattr(asked, name)}" for name in named if getattr(asked, name) is not None]
    return " ".join([asked.capability, asked.raw, *said])


def detail_of(error: AgentError) -> object:
    """The reason in an error, as the model names it."""
    details = error.details
    match error.code:
        case ErrorCode.INVALID_INPUT:
            locked = details.get("locked_fields", ())
            return tuple(locked) if isinstance(locked, list) else ()
        case ErrorCode.AMBIGUOUS_INSTANCE:
            instances = details["instances"]
            return tuple(instances) if isinstance(instances, list) else instances
        case ErrorCode.COMPONENT_UNMOUNTED:
            return details["phase"]
        case ErrorCode.CONFIRMATION_REQUIRED:
            return details["confirmation_id"]
        case ErrorCode.EXECUTION_FAILED:
            return details["reason"], details["outcome"]
        case _:
            return details.get("reason")
