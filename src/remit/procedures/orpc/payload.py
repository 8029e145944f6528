"""What comes back on either wire: values, error objects, and the codes that oRPC itself knows (SPEC 10.7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from remit._base.boundary import Json, NotJson

STATUSES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "BAD_REQUEST": 400,
        "UNAUTHORIZED": 401,
        "PAYMENT_REQUIRED": 402,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "METHOD_NOT_SUPPORTED": 405,
        "NOT_ACCEPTABLE": 406,
        "TIMEOUT": 408,
        "CONFLICT": 409,
        "GONE": 410,
        "PRECONDITION_FAILED": 412,
        "PAYLOAD_TOO_LARGE": 413,
        "UNSUPPORTED_MEDIA_TYPE": 415,
        "UNPROCESSABLE_CONTENT": 422,
        "PRECONDITION_REQUIRED": 428,
        "TOO_MANY_REQUESTS": 429,
        "CLIENT_CLOSED_REQUEST": 499,
        "INTERNAL_SERVER_ERROR": 500,
        "NOT_IMPLEMENTED": 501,
        "BAD_GATEWAY": 502,
        "SERVICE_UNAVAILABLE": 503,
        "GATEWAY_TIMEOUT": 504,
    }
)
"""The status of each code that oRPC knows; any other is 500 unless something else says more."""

_KEYS: Final = frozenset({"defined", "inferable", "code", "status", "message", "data"})
_REFUSED: Final = range(400, 600)
_UNKNOWN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Thrown:
    """An error object: `status` is None where it does not stand in it (2.0-beta)."""

    defined: bool
    code: str
    status: int | None
    data: Json

    def status_of_event(self) -> int:
        """The status of an error that came inside a stream, whose own status is 200."""
        return self.status or STATUSES.get(self.code, _UNKNOWN)


def value_of(message: Json, *, wrapped: bool) -> Json:
    """The value of a message; on the RPC wire it is wrapped, and an empty object is no value, told as null.

    `meta` says which of the values stand for native ones. Their JSON form is what an agent gets, so nothing is to be
    done for it, nor for a code that is not known.
    """
    if not wrapped:
        return message
    if not isinstance(message, dict):
        raise NotJson("the answer is no payload of oRPC")
    return message.get("json")


def thrown_of(value: Json) -> Thrown | None:
    """The error object, None for anything else: what a host or a proxy says, for one."""
    if not isinstance(value, dict) or not value.keys() <= _KEYS:
        return None
    defined, code, status = value.get("defined"), value.get("code"), value.get("status")
    if not isinstance(defined, bool) or not isinstance(code, str) or not isinstance(value.get("message"), str):
        return None
    number = int(status) if isinstance(status, int | float) and not isinstance(status, bool) else None
    return Thrown(defined=defined, code=code, status=number if number in _REFUSED else None, data=value.get("data"))
