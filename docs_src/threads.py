"""Worker threads and a surface, as the page about the surface shows it."""

import asyncio

from remit import Authority, Component, Consumer, Ok, Surface, SurfaceFromThread, action, observation
from remit.compiler import compile_app


class Import(Component, type="import"):
    """Import of a file."""

    rows = 0

    @observation
    def progress(self) -> int:
        """Rows so far."""
        return self.rows

    @action
    def restart(self) -> None:
        """Begin again."""
        self.rows = 0


COPILOT = Consumer("copilot", kind="embedded")


def work(surface: SurfaceFromThread) -> None:
    mount = surface.mount(Import())  # waits for the surface's loop
    assert isinstance(surface.call(COPILOT, Import.restart), Ok)
    surface.run(mount.update, enabled=False, reason="The file has been read")


async def main(authority: Authority) -> None:
    surface = Surface(authority, principal="operator")
    await asyncio.to_thread(work, surface.from_thread())
    assert not surface.connect(COPILOT).capabilities()[0].available


if __name__ == "__main__":
    asyncio.run(main(compile_app(__file__)))
