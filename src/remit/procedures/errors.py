"""How a function says what its backend answered (SPEC 10.1, 10.5)."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final, Self

from remit._base.boundary import NotJson, TooLarge, take
from remit._model.answers import DETAIL_BYTES
from remit.errors import Issue

_LOWEST: Final = 300
_HIGHEST: Final = 599
_REFUSED_FROM: Final = 400
_FAILED_FROM: Final = 500
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,80}")


class BackendError(Exception):
    """The backend refused or failed; `status` is an HTTP status or its like, mapped by the table of SPEC 10.5.

    `issues` are field problems of a 400 or 422, each an `Issue` or a mapping with `path` and `message`; `code` (1 to 80
    characters of `[A-Za-z0-9_.-]`) and `data` (JSON, at most 2,048 bytes) are a declared error of the operation,
    `retry_after` the seconds of a 429 or 503. `approval` says that
    the backend did nothing because it wants an approval of its own: a mapping of JSON with what the caller should know
    of it, such as an id to quote, `{}` if there is nothing; with a status from 400 to 499 only, which then counts for
    nothing else (SPEC 7.11). The message of the exception is for the operator and never reaches an agent.

    A status outside 300 to 599 is a ValueError: an answer that succeeded is returned, not raised. Any other argument
    that cannot be meant is `WronglyRaised`, a TypeError and ValueError that still says which status was meant.
    """

    def __init__(  # noqa: PLR0913 - one keyword a part of an answer
        self,
        status: int,
        message: str = "",
        *,
        issues: Iterable[Issue | Mapping[str, str]] = (),
        code: str | None = None,
        data: object = None,
        retry_after: float | None = None,
        approval: Mapping[str, object] | None = None,
    ) -> None:
        if isinstance(status, bool) or not isinstance(status, int) or not _LOWEST <= status <= _HIGHEST:
            raise ValueError(f"BackendError needs a status from {_LOWEST} to {_HIGHEST}, not {status!r}")
        super().__init__(message or f"the backend answered {int(status)}")
        self.status: int = int(status)
        self.issues: tuple[Issue, ...] = _issues(self.status, issues)
        self.code: str | None = _code(self.status, code)
        self.data: object = _data(self.status, data, self.code)
        self.retry_after: float | None = _seconds(self.status, retry_after)
        self.approval: dict[str, object] | None = _approval(self.status, approval)


class NotSent(BackendError):
    """No request reached the backend: nothing has happened there, whatever the operation does (SPEC 8.1)."""


class NoAnswer(BackendError):
    """No answer came, or half of one: what it has done is not known, unless the operation only reads.

    `within_s` is the limit of the catalogue that ended it, None where something else did.
    """

    within_s: float | None = None

    @classmethod
    def too_late(cls, status: int, message: str, within_s: float) -> Self:
        """One that this limit has ended."""
        error = cls(status, message)
        error.within_s = within_s
        return error


class WronglyRaised(BackendError, TypeError, ValueError):
    """A `BackendError` with an argument that cannot be meant; the message names it.

    It is a backend's answer all the same, of the status that was given, and where `data=` or `approval=` cannot be told
    of the code, or of a demand for approval: a slip in the details of a refusal does not make its outcome unknown.
    """


def _issues(status: int, issues: object) -> tuple[Issue, ...]:
    if not isinstance(issues, Iterable):
        raise _wrong(status, "issues=", "a collection of Issue", issues)
    return tuple(_issue(status, issue) for issue in issues)


def _issue(status: int, given: object) -> Issue:
    path: object = None
    message: object = None
    if isinstance(given, Issue):
        path, message = given.path, given.message
    elif isinstance(given, Mapping):
        path, message = given.get("path", ""), given.get("message")
    if not isinstance(path, str) or not isinstance(message, str):
        raise _wrong(status, "an entry of issues=", "an Issue, or a mapping with the texts path and message", given)
    return Issue(path=path, message=message)


def _code(status: int, code: object) -> str | None:
    if code is None:
        return None
    if not isinstance(code, str):
        raise _wrong(status, "code=", "text", code)
    if not _CODE.fullmatch(code):
        raise WronglyRaised(
            status, f"BackendError({status}): code= cannot be told: it is not 1 to 80 characters of [A-Za-z0-9_.-]"
        )
    return code


def _data(status: int, data: object, code: str | None) -> object:
    if (why := _untold(data)) is not None:
        raise WronglyRaised(status, f"BackendError({status}): data= cannot be told: it {why}", code=code)
    return data


def _untold(data: object) -> str | None:
    """Why an agent cannot be told this, None if it can."""
    try:
        take(data, max_bytes=DETAIL_BYTES)
    except TooLarge:
        return f"has more than {DETAIL_BYTES:,} bytes"
    except NotJson as problem:
        return f"is no JSON: {problem.told}"
    return None


def _seconds(status: int, seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise _wrong(status, "retry_after=", "a number of seconds", seconds)
    if not 0 <= seconds < math.inf:
        raise WronglyRaised(status, f"BackendError({status}): retry_after= is finite and not below 0, not {seconds}")
    return seconds


def _approval(status: int, approval: object) -> dict[str, object] | None:
    if approval is None:
        return None
    if not isinstance(approval, Mapping):
        raise _wrong(status, "approval=", "a mapping", approval)
    if not _REFUSED_FROM <= status < _FAILED_FROM:
        raise WronglyRaised(status, f"BackendError({status}): approval= stands with a status from 400 to 499 only")
    if (why := _untold(dict(approval))) is not None:
        raise WronglyRaised(status, f"BackendError({status}): approval= cannot be told: it {why}", approval={})
    return dict(approval)


def _wrong(status: int, what: str, meant: str, given: object) -> WronglyRaised:
    return WronglyRaised(status, f"BackendError({status}): {what} is {meant}, not {type(given).__name__}")
