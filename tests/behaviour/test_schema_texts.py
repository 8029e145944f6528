"""What a reviewer cannot see is in no declaration, and reaches no reader at run time (SPEC 3.2, 3.12)."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from remit import Component, DefinitionError, Procedures, Surface, Unavailable, action, observation, reference
from tests.behaviour.conftest import AGENT, authority_of, failed

UNSEEN = {"zero-width": "\u200b", "bidi": "\u202e", "tag": "\U000e0041", "isolate": "\u2066", "control": "\u0007"}


def place(text: str) -> dict[str, Callable[[], Any]]:
    """Each place of a schema that an agent reads, as a hint that holds this text there."""
    return {
        "description": lambda: Annotated[str, Field(description=text)],
        "title": lambda: Annotated[str, Field(title=text)],
        "examples": lambda: Annotated[str, Field(examples=["a", text])],
        "an object among examples": lambda: Annotated[dict[str, Any], Field(examples=[{text: 1}])],
        "enum": lambda: Literal["a", text],
        "const": lambda: Literal[text],
        "pattern": lambda: Annotated[str, Field(pattern=f"a{text}b")],
        "property name": lambda: create_model("Row", **{f"a{text}": (int, ...)}),  # type: ignore[call-overload]
        "nested default": lambda: create_model("Row", a=(str, text)),
        "nested description": lambda: list[create_model("Row", a=(int, Field(description=text)))],  # type: ignore[misc]
    }


PLACES = tuple(place(""))
CASES = [(where, kind) for where in PLACES for kind in UNSEEN]


@pytest.mark.requirement("3.2-schemas-hide-nothing")
@pytest.mark.parametrize(("where", "kind"), CASES)
def test_an_input_that_hides_text_is_refused_with_the_character_and_the_place(where: str, kind: str) -> None:
    hint = place(f"pick{UNSEEN[kind]}this")[where]()

    def choose(self: Any, chosen: Any) -> None:
        """Choose."""

    choose.__annotations__ = {"chosen": hint, "return": None}

    with pytest.raises(DefinitionError) as refused:

        class Page(Component, type="page"):
            """A page."""

            go = action(name="choose")(choose)

        authority_of(Page)
    said = str(refused.value)
    assert "UNSUPPORTED_SCHEMA" in said and "chosen" in said and said.isprintable() is ("\n" not in said)
    assert f"U+{ord(UNSEEN[kind]):04X}" in said or where == "property name"


@pytest.mark.requirement("3.2-schemas-hide-nothing")
@pytest.mark.parametrize("kind", UNSEEN)
def test_a_default_and_an_output_that_hide_text_are_refused(kind: str) -> None:
    text = f"a{UNSEEN[kind]}"

    class Row(BaseModel):
        city: Annotated[str, Field(description=text)]

    with pytest.raises(DefinitionError, match="default"):

        class First(Component, type="first"):
            """First."""

            @action
            def put(self, name: str = text) -> None:
                """Put."""

        authority_of(First)
    with pytest.raises(DefinitionError, match=r"city: .description."):

        class Second(Component, type="second"):
            """Second."""

            @observation
            def read(self) -> Row:
                """Read."""
                return Row(city="")

        authority_of(Second)


@pytest.mark.requirement("3.2-schemas-hide-nothing")
@pytest.mark.parametrize("kind", UNSEEN)
@pytest.mark.parametrize("where", ["enum", "description", "nested default"])
def test_an_operation_of_a_catalogue_is_held_to_the_same(where: str, kind: str) -> None:
    hint = place(f"x{UNSEEN[kind]}")[where]()
    backend = Procedures()

    async def save(value: Any) -> None:
        """Save."""

    save.__annotations__ = {"value": hint, "return": None}
    backend.operation("save", effect="server-mutation")(save)

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    with pytest.raises(DefinitionError, match="value"):
        authority_of(Page, procedures=backend)


@pytest.mark.requirement("3.12-run-time-text-is-one-capped-line", "2.1-instance")
@pytest.mark.parametrize("kind", UNSEEN)
async def test_labels_are_refused_and_reasons_are_cleaned_when_they_come_at_run_time(kind: str) -> None:
    unseen = UNSEEN[kind]

    class Page(Component, type="page"):
        """A page."""

        @action
        def put(self) -> None:
            """Put."""

        @put.available
        def _(self) -> Unavailable:
            return Unavailable(f"not{unseen} now")

        @put.note
        def _(self) -> str:
            return f"a{unseen} note"

    surface = Surface(authority_of(Page), principal="operator")
    with pytest.raises(DefinitionError):
        surface.mount(Page(), f"a{unseen}b")
    surface.mount(Page())
    (listed,) = surface.connect(AGENT).capabilities()
    assert (listed.reason, listed.note) == ("not now", "a note")
    error = failed(await surface.connect(AGENT).call(Page.put), "CAPABILITY_NOT_AVAILABLE")
    assert error.details == {"reason": "not now"}
