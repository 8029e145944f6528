"""How a function says what its backend answered (SPEC 10.1, 10.5)."""

from collections.abc import Iterable
from typing import Final

from remit._base.boundary import Json
from remit.errors import Issue

_LOWEST: Final = 300
_HIGHEST: Final = 599


class BackendError(Exception):
    """The backend refused or failed; `status` is an HTTP status or its like, mapped by the table of SPEC 10.5.

    `issues` are field problems of a 400 or 422, `code` and `data` a declared error of the operation, `retry_after` the
    seconds of a 429 or 503. The message of the exception is for the operator and never reaches an agent. A status
    outside 300 to 599 is a ValueError: an answer that succeeded is returned, not raised.
    """

    def __init__(
        self,
        status: int,
        message: str = "",
        *,
        issues: Iterable[Issue] = (),
        code: str | None = None,
        data: Json = None,
        retry_after: float | None = None,
    ) -> None:
        if isinstance(status, bool) or not isinstance(status, int) or not _LOWEST <= status <= _HIGHEST:
            raise ValueError(f"BackendError needs a status from {_LOWEST} to {_HIGHEST}, not {status!r}")
        super().__init__(message or f"the backend answered {status}")
        self.status = status
        self.issues = tuple(issues)
        self.code = code
        self.data = data
        self.retry_after = retry_after
