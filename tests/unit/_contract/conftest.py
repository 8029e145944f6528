"""Operations for the tests of this room."""

import pytest

from remit._contract.operation import OperationRecord, record_of
from remit._model.consumer import Principal
from remit.procedures import Procedures


@pytest.fixture
def operations() -> dict[str, OperationRecord]:
    """One operation of each effect, all taking `ids` and `why`."""
    backend = Procedures()
    for effect in ("server-query", "server-mutation", "external-side-effect", "destructive"):

        @backend.operation(effect, effect=effect, tags=("things",))
        async def run(ids: list[str], caller: Principal, why: str | None = None) -> int:
            """Do something."""
            return len(ids)

    found = {name: backend.get(name) for name in backend.names()}
    return {name: record_of(operation) for name, operation in found.items() if operation is not None}
