"""The examples of docs/reference/schemas.md; runs as it is."""

import asyncio

from remit import Component, Consumer, Failed, Ok, Surface, action
from remit.compiler import compile_app


class Map(Component, type="demo.map"):
    """A map of places."""

    def __init__(self) -> None:
        self.places: dict[str, object] = {}

    @action(
        input={
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 40},
                "at": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                "icon-size": {"enum": ["small", "large"], "default": "small"},
            },
            "required": ["name", "at"],
        },
        output={"type": "integer", "minimum": 0},
    )
    def put_place(self, place: dict[str, object]) -> int:
        """Put a place on the map."""
        self.places[str(place["name"])] = place
        return len(self.places)


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="operator")
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    shown = Map()
    with surface.mount(shown):
        assert isinstance(await agent.call(Map.put_place, {"name": "Home", "at": [52.5, 13.4]}), Ok)
        assert isinstance(await agent.call(Map.put_place, {"name": "Home", "at": [52.5]}), Failed)
    assert shown.places == {"Home": {"name": "Home", "at": [52.5, 13.4], "icon-size": "small"}}


if __name__ == "__main__":
    asyncio.run(main())
