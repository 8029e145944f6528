"""What the author of a catalogue says of the way, checked before anything is sent (SPEC 2.3, 10.4)."""

import math
from collections.abc import Mapping
from typing import Final

from remit.errors import DefinitionError
from remit.procedures.http.address import Address, address_of
from remit.procedures.http.credentials import OF_THE_WAY, TOKEN, Credentials
from remit.procedures.listing import wrong


class Checked:
    """Checks the arguments of one catalogue; each DefinitionError names the argument."""

    def __init__(self, subject: str, place: str) -> None:
        self._subject = subject
        self._place = place

    def address(self, base_url: object) -> Address:
        """The address; a function of it is asked later."""
        try:
            return address_of(base_url)
        except ValueError as problem:
            raise self._wrong(f"base_url: {problem}", "write base_url='https://fleet.example/api'") from problem

    def seconds(self, name: str, value: object) -> float:
        """A time: a finite number above zero."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self._wrong(f"{name}={_shown(value)} is no number of seconds above 0", f"write {name}=10.0")
        return value

    def count(self, name: str, value: object) -> int:
        """How many: a whole number above zero."""
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._wrong(f"{name}={_shown(value)} is no whole number above 0", f"write {name}=5")
        return value

    def credentials(self, value: object) -> Credentials | None:
        """What makes the headers of a person, or None."""
        if value is not None and not isinstance(value, Credentials):
            raise self._wrong(f"credentials={_shown(value)} is no Credentials", "write Credentials(…, headers=[…])")
        return value

    def function(self, name: str, value: object) -> None:
        """A function, or None."""
        if value is not None and not callable(value):
            raise self._wrong(f"{name}={_shown(value)} is no function", f"give a function, or leave {name}= out")

    def idempotency_header(self, value: object, credentials: Credentials | None) -> bytes | None:
        """The header of the key: one that can be written, and that nothing else fills."""
        if value is None:
            return None
        name = value.lower() if isinstance(value, str) else ""
        if not TOKEN.fullmatch(name):
            raise self._wrong(f"idempotency_header={_shown(value)} is no name of a header", _KEY)
        if name in OF_THE_WAY or name in _NOT_A_KEY:
            raise self._wrong(f"idempotency_header={_shown(value)} has a meaning of its own", _KEY)
        if credentials is not None and name in credentials.names:
            raise self._wrong(f"idempotency_header={_shown(value)} is a header of its credentials, too", _KEY)
        return name.encode()

    def exposed(self, value: object) -> None:
        """What is opted in, by name."""
        if not isinstance(value, Mapping):
            raise self._wrong(f"expose= is no mapping but {type(value).__name__}", _EXPOSE)
        for name in value:
            if not isinstance(name, str):
                raise self._wrong(f"expose= names an operation {_shown(name)}, which is no text", _EXPOSE)

    def _wrong(self, rule: str, do: str) -> DefinitionError:
        return wrong(self._subject, rule, self._place, do)


_NOT_A_KEY: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
_KEY: Final = 'write idempotency_header="Idempotency-Key", or None'
_EXPOSE: Final = 'write expose={"devices.disable": …}'
_SHOWN: Final = 80


def _shown(value: object) -> str:
    """A value as it stands in an error: what is short and plain, else its type."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        try:
            return repr(value)[:_SHOWN]
        except ValueError:  # an integer of too many digits
            pass
    return f"a {type(value).__name__}"
