"""The contract: loading and verifying it, and holding live classes to it (SPEC 3.7, 3.8)."""

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from remit import Authority, Component, DefinitionError, Invocation, Limits, Refused, Surface, action, observation
from remit.policies import Policy, require_confirmation
from tests.behaviour.conftest import AGENT, authority_of, contract_of, failed, output


class Table(Component, type="devices.table"):
    """A table."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def select(self, ids: list[str]) -> None:
        """Select."""


def written(folder: Path, data: bytes) -> Path:
    """The contract as a file beside a project file."""
    (folder / "pyproject.toml").write_text("[tool.remit]\nentries = []\n", encoding="utf-8")
    file = folder / "remit.contract.json"
    file.write_bytes(data)
    return file


@pytest.mark.requirement("13.3-pending-authority")
def test_no_surface_is_opened_while_the_contract_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_COMPILE", "1")
    authority = Authority.load(beside=__file__)
    assert authority.pending
    with pytest.raises(RuntimeError, match="__name__ == '__main__'"):
        Surface(authority, principal="operator")


@pytest.mark.requirement("3.7-load")
async def test_an_authority_is_loaded_from_a_path_or_from_the_project_a_file_stands_in(tmp_path: Path) -> None:
    file = written(tmp_path, contract_of(Table))
    inner = tmp_path / "app" / "pages"
    inner.mkdir(parents=True)
    beside = str(inner / "devices.py")
    for authority in (Authority.load(file), Authority.load(beside=beside), Authority.load(str(file))):
        surface = Surface(authority, principal="operator")
        surface.mount(Table())
        assert output(await surface.connect(AGENT).call(Table.read)) == 1
    with pytest.raises(FileNotFoundError, match="remit compile"):
        Authority.load(tmp_path / "none.json")
    stranger = tmp_path / "app" / "pyproject.toml"
    stranger.write_text("[tool.remit]\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"beside devices\.py"):
        Authority.load(beside=beside)
    with pytest.raises(TypeError):
        Authority.load()


def _change(path: list[Any], value: object) -> Any:
    def change(form: Any) -> None:
        for step in path[:-1]:
            form = form[step]
        form[path[-1]] = value

    return change


TAMPERED: dict[str, Any] = {
    "another format": _change(["head", "format"], 2),
    "a row": _change(["capabilities", 0, "effect"], "navigation"),
    "a row and its schema": _change(["capabilities", 1, "input", "properties"], {}),
    "a component": _change(["components", 0, "description"], "Another."),
    "the hash of a row": _change(["capabilities", 0, "hash"], "sha256:0"),
    "the whole": _change(["hash"], "sha256:0"),
    "the exposure": _change(["head", "exposure"], {"mcp": ["view:**"]}),
    "the policies": _change(["head", "policies"], []),
    "a row less": lambda form: form["capabilities"].pop(),
    "a row twice": lambda form: form["capabilities"].append(form["capabilities"][0]),
    "a component twice": lambda form: form["components"].append(form["components"][0]),
}


@pytest.mark.requirement("3.7-verified")
@pytest.mark.parametrize("what", TAMPERED)
def test_a_contract_that_was_changed_by_hand_is_refused(what: str, tmp_path: Path) -> None:
    form = json.loads(contract_of(Table, policies=["authenticated"]))
    TAMPERED[what](form)
    file = written(tmp_path, (json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())
    with pytest.raises(DefinitionError) as refused:
        Authority.load(file)
    assert refused.value.code == "CONTRACT_MISMATCH"


@pytest.mark.requirement("3.7-verified")
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'{"head": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_contract_is_refused_and_says_what_to_do(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="remit compile"):
        Authority.load(written(tmp_path, data))


@pytest.mark.requirement("3.8-a-mismatch-names-the-field")
def test_a_class_edited_since_the_compile_names_the_field_the_place_and_what_to_do() -> None:
    authority = authority_of(Table)

    def edited(**changes: Any) -> type[Component]:
        hint = changes.get("hint", list[str])

        class Table(Component, type="devices.table", title=changes.get("title")):
            """A table."""

            @observation(tags=changes.get("tags", ()), timeout=changes.get("timeout"), doors=changes.get("doors"))
            def read(self) -> int:
                """Read."""
                return 1

            @action(
                effect=changes.get("effect", "local-state"),
                description=changes.get("description"),
                confirmation=changes.get("confirmation"),
                idempotent=changes.get("idempotent"),
                reversible=changes.get("reversible"),
                approver=changes.get("approver"),
                audit=changes.get("audit"),
                spend_time=changes.get("spend_time"),
                deprecated=changes.get("deprecated", False),
            )
            def select(self, ids: hint) -> None:  # type: ignore[valid-type] # pyright: ignore[reportInvalidTypeForm]
                """Select."""

        return Table

    Surface(authority, principal="operator").mount(edited()())
    for field, change, recorded in (
        ("effect", {"effect": "navigation"}, "effect"),
        ("description", {"description": "Other."}, "description"),
        ("confirmation", {"confirmation": "required"}, "confirmation"),
        ("idempotent", {"idempotent": True}, "idempotent"),
        ("reversible", {"reversible": False}, "reversible"),
        ("approver", {"approver": "lead"}, "approver"),
        ("audit", {"audit": "full"}, "audit"),
        ("spend_time", {"spend_time": 5}, "spend_time"),
        ("deprecated", {"deprecated": True}, "deprecated"),
        ("input", {"hint": list[int]}, "input"),
        ("input", {"hint": Annotated[list[str], Field(min_length=1)]}, "input"),
        ("timeout", {"timeout": 1}, "timeout"),
        ("tags", {"tags": ["x"]}, "tags"),
        ("doors", {"doors": ["mcp"]}, "doors"),
        ("title", {"title": "Devices"}, "title"),
    ):
        with pytest.raises(DefinitionError) as refused:
            Surface(authority, principal="operator").mount(edited(**change)())
        text = str(refused.value)
        assert refused.value.code == "CONTRACT_MISMATCH", field
        assert f"{recorded} differs from remit.contract.json" in text
        assert "declared" in text and "recorded" in text and "do  remit compile" in text
        assert "test_contract.py:" in text


@pytest.mark.requirement("5.5-what-narrows-shows-in-the-name")
def test_a_confirmation_that_a_condition_narrows_is_not_the_one_that_was_compiled() -> None:
    def made(policy: Policy) -> type[Component]:
        class Board(Component, type="contract.board"):
            """Board."""

            @action(policies=(policy,))
            def wipe(self) -> None:
                """Wipe."""

        return Board

    authority = authority_of(made(require_confirmation()))
    Surface(authority, principal="operator").mount(made(require_confirmation())())
    with pytest.raises(DefinitionError, match=r"policies differs from remit\.contract\.json") as refused:
        Surface(authority, principal="operator").mount(made(require_confirmation(when=lambda ctx: False))())
    assert refused.value.code == "CONTRACT_MISMATCH"


@pytest.mark.requirement("3.3-a-precondition-is-in-the-contract")
@pytest.mark.parametrize("compiled", [True, False])
def test_a_precondition_that_went_or_came_is_not_what_was_compiled(compiled: bool) -> None:
    class Guarded(Component, type="contract.board"):
        """Board."""

        @action
        def wipe(self) -> None:
            """Wipe."""

        @wipe.precondition
        def _(self) -> Refused | None:
            return None

    class Open(Component, type="contract.board"):
        """Board."""

        @action
        def wipe(self) -> None:
            """Wipe."""

    first, second = (Guarded, Open) if compiled else (Open, Guarded)
    authority = authority_of(first)
    Surface(authority, principal="operator").mount(first())
    with pytest.raises(DefinitionError, match=r"precondition differs from remit\.contract\.json") as refused:
        Surface(authority, principal="operator").mount(second())
    assert refused.value.code == "CONTRACT_MISMATCH"


@pytest.mark.requirement("3.8-never-compiled")
def test_a_class_or_capability_that_was_never_compiled_is_refused_and_one_that_is_gone_too() -> None:
    authority = authority_of(Table)

    class Other(Component, type="other"):
        """Other."""

    def more() -> type[Component]:
        class Table(Component, type="devices.table"):
            """A table."""

            @observation
            def read(self) -> int:
                """Read."""
                return 1

            @action
            def select(self, ids: list[str]) -> None:
                """Select."""

            @action
            def clear(self) -> None:
                """Clear."""

        return Table

    def fewer() -> type[Component]:
        class Table(Component, type="devices.table"):
            """A table."""

            @observation
            def read(self) -> int:
                """Read."""
                return 1

        return Table

    for cls, named in ((Other, "other"), (more(), "devices.table.clear"), (fewer(), "devices.table.select")):
        with pytest.raises(DefinitionError) as refused:
            Surface(authority, principal="operator").mount(cls())
        assert refused.value.code == "CONTRACT_MISMATCH" and named in str(refused.value)
    with pytest.raises(TypeError):
        Surface(authority, principal="operator").mount(object())  # type: ignore[arg-type]


@pytest.mark.requirement("3.3-static-metadata")
def test_handlers_predicates_and_bound_values_are_not_in_the_contract() -> None:
    def table(value: int) -> type[Component]:
        class Table(Component, type="table"):
            """A table."""

            @observation
            def read(self) -> int:
                """Read."""
                return value

            @read.note
            def _(self) -> str:
                return f"note-{value}"

        return Table

    assert contract_of(table(1)) == contract_of(table(2))
    assert b"note-" not in contract_of(table(1))


@pytest.mark.requirement("13.4-canonical")
def test_the_same_declarations_give_the_same_bytes_whatever_their_order() -> None:
    class Other(Component, type="another"):
        """Other."""

    assert contract_of(Table, Other) == contract_of(Other, Table)
    assert authority_of(Table).hash == authority_of(Table).hash != authority_of(Table, Other).hash


@pytest.mark.requirement("17-input-and-output-bytes", "17-settable")
async def test_the_limits_of_input_and_output_are_65536_and_32768_bytes_of_utf_8_and_settable() -> None:
    class Echo(Component, type="echo"):
        """Echo."""

        @action
        def back(self, text: str, times: int = 1) -> str:
            """Back."""
            return text[:10] * times

    overhead = len('{"text":""}')
    surface = Surface(authority_of(Echo), principal="operator")
    surface.mount(Echo())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Echo.back, {"text": "é" * ((65_536 - overhead) // 2)})) == "é" * 10
    failed(await agent.call(Echo.back, {"text": "é" * ((65_536 - overhead) // 2) + "xx"}), "INVALID_INPUT")
    small = Surface(authority_of(Echo), principal="operator", limits=Limits(input_bytes=100, output_bytes=20))
    small.mount(Echo())
    agent = small.connect(AGENT)
    assert output(await agent.call(Echo.back, {"text": "x" * (100 - overhead)})) == "x" * 10
    error = failed(await agent.call(Echo.back, {"text": "x" * (101 - overhead)}), "INVALID_INPUT")
    assert "100" in str(error.details["issues"])
    error = failed(await small.invoke(Invocation("view:echo.back", {"text": "abcdefghij", "times": 2}), AGENT))
    assert error.details["reason"] == "output-too-large"
    wrongs: tuple[dict[str, Any], ...] = (
        {"input_bytes": 0},
        {"action_s": float("inf")},
        {"denials": 1.5},
        {"decide_s": -1},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError):
            Limits(**wrong)


@pytest.mark.requirement("17-declarations")
def test_a_schema_deeper_than_8_or_larger_than_16384_bytes_is_refused() -> None:
    def declare(hint: Any) -> None:
        class Deep(Component, type="deep"):
            """Deep."""

            @action
            def put(self, value: hint) -> None:  # pyright: ignore[reportInvalidTypeForm]
                """Put."""

        authority_of(Deep)

    nested: Any = int
    for _ in range(5):
        nested = list[nested]
    declare(nested)
    for _ in range(6):
        nested = list[nested]
    big = Annotated[str, Field(description="x" * 17_000)]
    for hint in (nested, big):
        with pytest.raises(DefinitionError) as refused:
            declare(hint)
        assert refused.value.code == "LIMIT_EXCEEDED"


@pytest.mark.requirement("17-declarations")
def test_a_schema_of_exactly_16384_bytes_and_8_levels_is_taken_and_one_more_of_either_is_not() -> None:
    def schema(hint: Any) -> bytes:
        class Deep(Component, type="deep"):
            """Deep."""

            @action
            def put(self, value: hint) -> None:  # pyright: ignore[reportInvalidTypeForm]
                """Put."""

        (row,) = json.loads(contract_of(Deep))["capabilities"]
        return json.dumps(row["input"], separators=(",", ":")).encode()

    def text(length: int) -> Any:
        return Annotated[str, Field(description="x" * length)]

    def nested(levels: int) -> Any:
        hint: Any = int
        for _ in range(levels - 1):
            hint = list[hint]
        return hint

    most = 16_384 - len(schema(text(1))) + 1
    assert len(schema(text(most))) == 16_384
    schema(nested(7))  # the field of the root is level 2
    for hint, told in ((text(most + 1), "16384 bytes"), (nested(8), "8 levels")):
        with pytest.raises(DefinitionError, match=told):
            schema(hint)
