"""Two processes' lives over one file: what was decided in the first is known in the second."""

import asyncio
import tempfile
from pathlib import Path

from remit import Component, ConfirmationKeys, Consumer, Principal, Surface, action
from remit.compiler import compile_app
from remit.store.sqlite import SQLiteStore


class Orders(Component, type="shop.orders"):
    """The open orders."""

    @action(confirmation="required", reversible=False)
    def close_month(self) -> None:
        """Close the month."""


AGENT = Consumer("agent", kind="test")


async def main() -> None:
    """Ask in one life, and come back in the next."""
    authority = compile_app(__file__)
    keys = ConfirmationKeys("k1", {"k1": "a secret of the deployment, at least 32 bytes"})
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "state.db")
        surface = Surface(authority, principal=Principal("ada"), store=store, keys=keys)
        surface.confirmations.attach_page()
        surface.mount(Orders())
        asked = await surface.connect(AGENT).call(Orders.close_month)
        print(asked)
        store.close()  # as the end of the process would

        store = SQLiteStore(Path(folder) / "state.db")
        rows = await store.confirmations.list()
        print([(row.status, row.cause) for row in rows])
        store.close()


if __name__ == "__main__":
    asyncio.run(main())
