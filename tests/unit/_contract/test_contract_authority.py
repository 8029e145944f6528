"""The contract as the live wing meets it: loaded, verified, compared with live classes (SPEC 3.7 to 3.9)."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from remit._base.boundary import Json
from remit._contract.authority import COMPILING, Authority
from remit._contract.component import Component
from remit._contract.decorators import action, observation
from remit._contract.manifest import Manifest, assemble, parse
from remit._contract.mismatch import check_recorded
from remit._contract.operation import OperationRecord, record_from_json, record_of
from remit._contract.reference import reference
from remit._contract.row import rows_of
from remit._model.answers import Refused
from remit._model.consumer import Principal
from remit._model.context import Context
from remit._model.effects import Audit, Confirmation, Effect, Kind
from remit.errors import DefinitionCode, DefinitionError
from remit.policies import authenticated, require_grant
from remit.procedures import Procedures

backend = Procedures()


@backend.operation("things.disable", effect="destructive")
async def disable(ids: list[str], caller: Principal, why: str | None = None) -> int:
    """Disable things."""
    return len(ids)


def operations() -> dict[str, OperationRecord]:
    operation = backend.get("things.disable")
    assert operation is not None
    return {"things.disable": record_of(operation)}


def contract(*classes: type, **head: Any) -> Manifest:
    rows = [rows_of(cls, operations()) for cls in classes]
    return assemble(
        [each.block for each in rows],
        [row.block for each in rows for row in each.capabilities],
        operations(),
        exposure=head.get("exposure", {}),
        policies=head.get("policies", ()),
    )


def table(mode: bool = False, **options: Any) -> type:
    """The class of the contract, and with arguments the same class after somebody edited it."""

    class Table(Component, type="t.table", policies=(require_grant("view"),)):
        """A table."""

        @observation
        def read(self) -> list[str]:
            """Read."""
            return []

        if mode:

            @action(**options)
            def select(  # pyright: ignore[reportRedeclaration] - one of the two
                self, ids: list[str], ctx: Context, mode: str = "a"
            ) -> None:
                """Select."""
        else:

            @action(**options)
            def select(self, ids: list[str], ctx: Context) -> None:
                """Select."""

        @select.precondition
        async def _(self, ids: list[str]) -> Refused | None:
            return None

        disable = reference("domain:things.disable", approver="lead", policies=(authenticated(),))

        @disable.bind("ids")
        def _(self) -> list[str]:
            return ["a"]

    return Table


def test_a_sealed_class_gives_plans_with_everything_a_call_needs() -> None:
    cls: Any = table(timeout=3)
    sealed = Authority(contract(cls)).seal(cls)
    assert (sealed.type, sealed.description) == ("t.table", "A table.")
    assert [policy.name for policy in sealed.policies] == ["require-grant:view"]
    read, select, refer = sealed.plans
    assert (read.id, select.id, refer.id) == ("view:t.table.read", "view:t.table.select", "domain:things.disable")
    assert read.descriptor.kind is Kind.OBSERVATION
    assert read.audit is Audit.NONE
    assert read.dump([]) == ([], b"[]")
    assert read.output is not None
    assert not read.output.is_valid([1])
    assert select.handler is cls.select.function
    assert select.injected == {"ctx": "context"}
    assert select.timeout_s == 3
    assert select.precondition_parameters == ("ids",)
    assert select.convert is not None
    assert select.convert(b'{"ids":["x"]}') == {"ids": ["x"]}
    assert refer.handler is None
    assert refer.convert is None
    assert refer.descriptor.effect is Effect.DESTRUCTIVE
    assert refer.descriptor.confirmation is Confirmation.ALWAYS
    assert refer.descriptor.bound == ("ids",)
    assert [binding.path for binding in refer.bindings] == ["ids"]
    assert refer.bindings[0].value(cls()) == ["a"]
    assert not refer.agent_input.is_valid({"ids": ["a"]})
    assert refer.full_input.is_valid({"ids": ["a"]})
    assert (refer.operation, refer.operation_hash) == ("things.disable", operations()["things.disable"].hash)
    assert refer.approver == "lead"
    assert [policy.name for policy in refer.policies] == ["authenticated"]


@pytest.mark.requirement("3.8-computed-once")
def test_plans_are_computed_once_per_class() -> None:
    cls = table()
    authority = Authority(contract(cls))
    assert authority.seal(cls) is authority.seal(cls)


@pytest.mark.requirement("3.8-a-mismatch-names-the-field")
@pytest.mark.parametrize(
    ("edited", "text"),
    [
        (
            lambda: table(mode=True),
            "[CONTRACT_MISMATCH] t.table.select: input differs from remit.contract.json        test_contract_a",
        ),
        (lambda: table(title="Pick"), "t.table.select: title differs from remit.contract.json"),
        (lambda: table(confirmation="required"), "t.table.select: confirmation differs"),
        (lambda: table(approver="lead"), "t.table.select: approver differs"),
        (lambda: table(effect="navigation"), "t.table.select: effect differs"),
        (lambda: table(timeout=1), "t.table.select: timeout differs"),
        (lambda: table(policies=(authenticated(),)), "t.table.select: policies differs"),
        (lambda: table(doors=("mcp",)), "t.table.select: doors differs"),
        (lambda: table(name="pick"), "t.table.pick: is not in remit.contract.json"),
        (lambda: table(description="Other."), "t.table.select: description differs"),
        (lambda: table(deprecated=True), "t.table.select: deprecated differs"),
    ],
)
def test_a_class_edited_since_is_refused_by_the_field_that_differs(edited: Callable[[], type], text: str) -> None:
    authority = Authority(contract(table()))
    with pytest.raises(DefinitionError) as caught:
        authority.seal(edited())
    assert caught.value.code is DefinitionCode.CONTRACT_MISMATCH
    assert text in str(caught.value)
    assert caught.value.do == "remit compile; review; commit"


@pytest.mark.requirement("3.8-a-mismatch-shows-both-sides")
def test_the_error_shows_both_sides_and_why() -> None:
    with pytest.raises(DefinitionError) as caught:
        Authority(contract(table())).seal(table(mode=True))
    assert caught.value.facts[:2] == (("declared", "ids, mode"), ("recorded", "ids"))
    assert caught.value.facts[2][1].startswith("`mode` is new in test_contract_authority.py:")


@pytest.mark.requirement("3.8-never-compiled")
def test_a_class_that_was_never_compiled_is_refused() -> None:
    class Other(Component, type="t.other"):
        """Other."""

    with pytest.raises(DefinitionError, match=r"t\.other: is not in remit\.contract\.json"):
        Authority(contract(table())).seal(Other)


@pytest.mark.requirement("3.8-never-compiled")
def test_a_reference_that_was_never_compiled_is_refused() -> None:
    class Table(Component, type="t.table"):
        """A table."""

        x = reference("domain:things.other")

    class Before(Component, type="t.table"):
        """A table."""

    with pytest.raises(DefinitionError, match=r"domain:things\.other: is not in remit\.contract\.json"):
        Authority(contract(Before)).seal(Table)


@pytest.mark.requirement("3.8-never-compiled")
def test_a_capability_that_left_the_class_is_refused() -> None:
    class Table(Component, type="t.table", policies=(require_grant("view"),)):
        """A table."""

    with pytest.raises(DefinitionError, match="but the class does not declare it"):
        Authority(contract(table())).seal(Table)


@pytest.mark.requirement("3.8-patched-is-refused")
def test_a_function_patched_before_the_first_mount_is_refused() -> None:
    cls: Any = table()
    authority = Authority(contract(cls))
    cls.select.function.__doc__ = "Something else."
    with pytest.raises(DefinitionError, match="description differs"):
        authority.seal(cls)


@pytest.mark.requirement("3.8-patched-is-refused")
def test_a_capability_replaced_after_the_first_mount_is_refused() -> None:
    cls: Any = table()
    authority = Authority(contract(cls))
    authority.seal(cls)
    type.__setattr__(cls, "select", table().__dict__["select"])
    with pytest.raises(DefinitionError, match="was replaced after its class was created"):
        authority.seal(cls)


# The file


def written(tmp_path: Path, manifest: Manifest) -> Path:
    file = tmp_path / "remit.contract.json"
    file.write_bytes(manifest.to_bytes())
    return file


@pytest.mark.requirement("3.7-load")
def test_an_authority_is_loaded_by_path_or_beside_a_file(tmp_path: Path) -> None:
    manifest = contract(table(), exposure={"mcp": ["view:t.**"]}, policies=["authenticated"])
    file = written(tmp_path, manifest)
    (tmp_path / "pyproject.toml").write_text("[tool.remit]\n", encoding="utf-8")
    (tmp_path / "a" / "b").mkdir(parents=True)
    for authority in (
        Authority.load(file),
        Authority.load(str(file)),
        Authority.load(beside=str(tmp_path / "a/b/c.py")),
    ):
        assert authority.hash == manifest.hash
        assert authority.policies == ("authenticated",)
        assert "view:t.table.read" in authority.exposure.doors["mcp"]
        assert not authority.pending
        assert list(authority.operations) == ["things.disable"]


@pytest.mark.requirement("3.7-the-search-stops-at-the-first-project")
def test_the_search_stops_at_the_first_project(tmp_path: Path) -> None:
    written(tmp_path, contract(table()))
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.remit]\nentries = ['app']\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError) as caught:
        Authority.load(beside=str(inner / "app.py"))
    assert (
        str(caught.value)
        == "no remit.contract.json beside app.py\n  do  remit compile     (while writing: remit dev -- python app.py)"
    )


def test_load_says_what_it_takes() -> None:
    for arguments in ({}, {"path": "a", "beside": "b"}):
        with pytest.raises(TypeError, match=r"Authority\.load\(beside=__file__\)"):
            Authority.load(**arguments)


@pytest.mark.requirement("13.3-pending-authority")
def test_inside_the_compiler_nothing_is_read_and_nothing_can_be_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_COMPILE", "1")
    authority = Authority.load("nowhere.json")
    assert authority.pending
    assert (authority.hash, authority.policies, dict(authority.operations)) == ("", (), {})
    with pytest.raises(TypeError, match="the authority is pending"):
        authority.seal(table())


@pytest.mark.requirement("3.7-immutable")
def test_an_authority_cannot_be_changed() -> None:
    authority: Any = Authority(contract(table()))
    for name in ("hash", "policies", "exposure", "operations", "pending", "other"):
        with pytest.raises(AttributeError):
            setattr(authority, name, None)
    with pytest.raises(TypeError):
        authority.operations["x"] = None


def forged(manifest: Manifest, change: Callable[[Any], None]) -> bytes:
    form = json.loads(manifest.to_bytes())
    change(form)
    return (json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


@pytest.mark.requirement("3.7-verified")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda form: form["capabilities"][0].update(approver=None), "the hash of domain:things.disable does not fit"),
        (lambda form: form["components"][0].update(title="x"), "the hash of t.table does not fit its row"),
        (lambda form: form["operations"][0].update(effect="server-query"), "is no contract"),
        (lambda form: form["head"].update(policies=["other"]), "the hash of the whole does not fit"),
        (lambda form: form["head"].update(exposure={"mcp": ["view:**"]}), "the hash of the whole does not fit"),
        (lambda form: form["capabilities"].pop(), "is listed without a row"),
        (lambda form: form["operations"].pop(), "is referenced and not recorded"),
        (lambda form: form["capabilities"].append(form["capabilities"][0]), "stands twice"),
        (lambda form: form["head"].update(format=2), "has format 2; this version reads 1"),
        (lambda form: form.pop("head"), "is no contract: the part 'head' is missing"),
        (lambda form: form["head"].pop("policies"), "is no contract: the part 'policies' is missing"),
        (lambda form: form["operations"][0].pop("effect"), "is no contract: the part 'effect' is missing"),
        (lambda form: form["capabilities"][0].pop("component"), "is no contract: the part 'component' is missing"),
        (lambda form: form.update(note="x"), "has a part “note”, which no contract of format 1 has"),
        (lambda form: form["operations"][0].update(note="x"), "has a part “note”"),
        (lambda form: form["head"].update(doors=[]), "has a part “doors”, which no contract of format 1 has"),
        (lambda form: form.update(hash="sha256:0"), "the hash of the whole does not fit"),
    ],
)
def test_a_forged_contract_does_not_load(tmp_path: Path, change: Callable[[Any], None], text: str) -> None:
    file = tmp_path / "remit.contract.json"
    file.write_bytes(forged(contract(table()), change))
    with pytest.raises(DefinitionError) as caught:
        Authority.load(file)
    assert caught.value.code is DefinitionCode.CONTRACT_MISMATCH
    assert text in str(caught.value)


@pytest.mark.requirement("3.7-verified")
@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_contract_does_not_load(data: bytes) -> None:
    with pytest.raises(DefinitionError, match="is no contract"):
        parse(data)


def replaced(manifest: Manifest, old: bytes, new: bytes) -> bytes:
    data = manifest.to_bytes()
    assert data.count(old)
    return data.replace(old, new, 1)


OTHERWISE: dict[str, tuple[Callable[[Manifest], bytes], str]] = {
    "UTF-16": (lambda it: it.to_bytes().decode().encode("utf-16"), "it is no UTF-8"),
    "a byte order mark": (lambda it: b"\xef\xbb\xbf" + it.to_bytes(), "begins with a byte order mark"),
    "one line": (lambda it: json.dumps(json.loads(it.to_bytes())).encode(), "is not written as remit compile writes"),
    "spaces behind": (lambda it: it.to_bytes() + b" " * 5_000, "is not written as remit compile writes it"),
    "no last line end": (lambda it: it.to_bytes().rstrip(), "is not written as remit compile writes it"),
    "escapes": (lambda it: replaced(it, b"remit", b"rem\\u0069t"), "is not written as remit compile writes it"),
    "CRLF": (lambda it: it.to_bytes().replace(b"\n", b"\r\n"), "remit.contract.json -text` in .gitattributes"),
    "a true format": (lambda it: replaced(it, b'"format": 1', b'"format": true'), "has format True"),
    "a float format": (lambda it: replaced(it, b'"format": 1', b'"format": 1.0'), "has format 1.0"),
    "no generator": (lambda it: forged(it, lambda form: form.pop("generator")), "the part 'generator' is missing"),
    "a generator of lines": (lambda it: forged(it, lambda form: form.update(generator="a\nb")), "no generator"),
    "a generator of controls": (lambda it: forged(it, lambda form: form.update(generator="a\x1b[2J")), "no generator"),
    "an empty generator": (lambda it: forged(it, lambda form: form.update(generator="")), "names no generator"),
    "a generator in a list": (lambda it: forged(it, lambda form: form.update(generator=["x"])), "names no generator"),
    "NaN": (lambda it: replaced(it, b'"title": null', b'"title": NaN'), "it has NaN or an infinity"),
    "half a character": (lambda it: replaced(it, b'"title": null', b'"title": "\\ud800"'), "a lone surrogate"),
    "half a generator": (lambda it: replaced(it, b'"generator": "', b'"generator": "\\ud800'), "a lone surrogate"),
    "a huge number": (lambda it: replaced(it, b'"title": null', b'"title": 99999999999999999999'), "an integer beyond"),
    "great depth": (lambda it: replaced(it, b'"title": null', b'"title": ' + b"[" * 300 + b"]" * 300), "too deep"),
}


@pytest.mark.requirement("13.4-read-as-written", "3.7-verified")
@pytest.mark.parametrize("what", OTHERWISE)
def test_bytes_that_the_compiler_does_not_write_are_no_contract(what: str) -> None:
    write, text = OTHERWISE[what]
    with pytest.raises(DefinitionError) as refused:
        parse(write(contract(table())))
    assert refused.value.code is DefinitionCode.CONTRACT_MISMATCH
    assert text in refused.value.rule
    assert (refused.value.subject, refused.value.do) == ("remit.contract.json", "remit compile; review; commit")


@pytest.mark.requirement("3.7-read-one-way-only")
@pytest.mark.parametrize(
    ("written", "twice", "key"),
    [
        (b'"policies": []', b'"policies": ["x"], "policies": []', "policies"),
        (b'"title": null', b'"title": "harmless", "title": null', "title"),
        (b'"operations": [', b'"operations": [], "operations": [', "operations"),
    ],
)
def test_a_contract_with_a_key_twice_does_not_load(written: bytes, twice: bytes, key: str) -> None:
    data = contract(table()).to_bytes()
    assert parse(data).hash and written in data
    with pytest.raises(DefinitionError, match=f"the key “{key}” stands twice"):
        parse(data.replace(written, twice, 1))


@pytest.mark.requirement("13.4-generator-apart-from-the-hash")
def test_the_generator_is_apart_from_the_hash() -> None:
    data = forged(contract(table()), lambda form: form.update(generator="remit 99"))
    assert parse(data).hash == contract(table()).hash


@pytest.mark.requirement("3.7-one-class-a-type")
def test_two_classes_of_one_type_are_no_contract() -> None:
    with pytest.raises(DefinitionError, match="two classes declare this type"):
        contract(table(), table())


@pytest.mark.requirement("10.10-one-id-for-all-references")
def test_two_components_may_refer_to_one_operation() -> None:
    class Other(Component, type="t.other"):
        """Other."""

        disable = reference("domain:things.disable", confirmation="always")

    cls = table()
    authority = Authority(contract(cls, Other))
    assert authority.seal(Other).plans[0].id == authority.seal(cls).plans[2].id
    assert authority.seal(Other).plans[0].approver is None


def described_at(city: str, *, needed: bool = False) -> type:
    """One class whose input has two fields, which differ in the second field, or in what is needed."""
    if needed:

        class Needed(Component, type="t.table"):
            """A table."""

            @action
            def filter(self, a: int, city: Annotated[str, Field(description="Milan")]) -> None:
                """Filter."""

        return Needed

    class Table(Component, type="t.table"):
        """A table."""

        @action
        def filter(self, a: int, city: Annotated[str, Field(description=city)] = "") -> None:
            """Filter."""

    return Table


@pytest.mark.requirement("3.8-a-mismatch-shows-both-sides")
def test_a_field_that_changed_is_named_and_its_equal_neighbours_are_not() -> None:
    with pytest.raises(DefinitionError) as caught:
        Authority(contract(described_at("Milan"))).seal(described_at("Rome"))
    assert caught.value.facts == (
        ("field", "city"),
        ("declared", '{"default": "", "description": "Rome", "type": "string"}'),
        ("recorded", '{"default": "", "description": "Milan", "type": "string"}'),
    )


@pytest.mark.requirement("3.8-a-mismatch-shows-both-sides")
def test_inputs_that_differ_beside_their_fields_are_shown_whole() -> None:
    class Table(Component, type="t.table"):
        """A table."""

        things = reference("domain:things.move")

    def recorded(**further: Any) -> dict[str, OperationRecord]:
        base: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, **further}
        operation = backend.get("things.disable")
        assert operation is not None
        return {"things.move": replace(record_of(operation), name="things.move", input_schema=base)}

    live, known = rows_of(Table, recorded(required=["a"])), rows_of(Table, recorded())
    manifest = assemble([known.block], [row.block for row in known.capabilities], recorded(), exposure={}, policies=())
    with pytest.raises(DefinitionError) as caught:
        check_recorded(live, manifest)
    assert caught.value.facts == (
        ("declared", '{"properties": {"a": {"type": "integer"}}, "required": ["a"], "type": "object"}'),
        ("recorded", '{"properties": {"a": {"type": "integer"}}, "type": "object"}'),
    )


def test_a_pending_authority_opens_nothing_at_any_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPILING, "1")
    assert Authority.load(beside=__file__).reach("mcp") == {}


def test_without_a_project_the_search_ends_at_the_root(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no remit\.contract\.json beside app\.py"):
        Authority.load(beside=str(tmp_path / "app.py"))


def test_a_source_tree_that_was_never_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = contract(table()).to_bytes()
    monkeypatch.setattr(sys, "path", [])
    bare = contract(table()).to_bytes()
    assert json.loads(bare)["generator"] == "remit"
    assert json.loads(installed)["generator"].startswith("remit ")


def test_an_exposure_of_a_door_that_there_is_not_is_refused() -> None:
    with pytest.raises(DefinitionError, match="there is no door 'window'") as caught:
        contract(table(), exposure={"window": ["view:**"]})
    assert "mcp" in (caught.value.do or "")


def test_every_parameter_goes_to_a_precondition_that_takes_whatever_there_is() -> None:
    class Table(Component, type="t.table"):
        """A table."""

        @action
        def select(self, ids: list[str], ctx: Context, mode: str = "a") -> None:
            """Select."""

        @select.precondition
        def _(self, **given: object) -> Refused | None:
            return None

    (select,) = Authority(contract(Table)).seal(Table).plans
    assert select.precondition_parameters == ("ids", "mode", "ctx")


@pytest.mark.parametrize(("part", "value"), [("name", 5), ("tags", [1]), ("input", []), ("output", "text")])
def test_a_block_whose_parts_are_of_another_type_is_no_operation(part: str, value: Json) -> None:
    block = operations()["things.disable"].to_json()
    assert record_from_json(block).to_json() == block
    with pytest.raises(TypeError, match="expected"):
        record_from_json({**block, part: value})
