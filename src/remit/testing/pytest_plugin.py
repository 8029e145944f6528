"""A harness as a pytest fixture: `harness = remit_harness(principal="operator")` in a conftest.py (SPEC 16.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

import pytest

from remit._base.boundary import Json
from remit._contract.authority import Authority
from remit._contract.files import contract_at
from remit._contract.manifest import FILE_NAME, Manifest
from remit._model.consumer import Consumer
from remit._policy.policy import Policy
from remit.compiler import compile_project
from remit.errors import CompileError, DefinitionError
from remit.procedures.catalogue import Catalogue
from remit.testing.doors import IN_PROCESS
from remit.testing.harness import Harness
from remit.testing.people import Answers, PrincipalSource

__all__ = ["remit_harness"]

_CHECKED: Final = pytest.StashKey[dict[Path, Authority | str]]()
_Blocks: TypeAlias = Mapping[str, Mapping[str, Json]]


def remit_harness(  # noqa: PLR0913 - the keywords of Harness
    contract: str = FILE_NAME,
    *,
    principal: PrincipalSource,
    policies: Iterable[Policy] = (),
    procedures: Catalogue | Sequence[Catalogue] | None = None,
    host: object = None,
    decider: Answers = "manual",
    consumer: Consumer | None = None,
    over: Iterable[str] = (),
) -> object:
    """An ordinary fixture that gives each test a fresh Harness; assign it to the name that tests ask for.

    `contract` is looked for beside the test and in the folders above. The source is compiled once a run and must equal
    it: on drift, and on anything the compiler finds, the test fails and says what to do. Nothing is autouse.

    With `over=["test", "mcp", "mcp-http"]` each test runs once for each of these doors (`Harness.over`), and is closed
    with it.
    """
    shared = tuple(policies)
    doors = (over,) if isinstance(over, str) else tuple(over)

    @pytest.fixture(params=doors or None)
    def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
        checked = _checked(request, contract)
        if isinstance(checked, str):
            pytest.fail(checked, pytrace=False)
        with Harness(
            checked,
            principal=principal,
            policies=shared,
            procedures=procedures,
            host=host,
            decider=decider,
            consumer=consumer,
        ) as made:
            yield made.over(getattr(request, "param", IN_PROCESS))

    return harness


def _checked(request: pytest.FixtureRequest, contract: str) -> Authority | str:
    """The authority, or why there is none; the same for every test of a run."""
    file = _above(request.path.parent, contract)
    if file is None:
        return f"no {contract} beside {request.path.name} or above\n  do  remit compile"
    known = request.config.stash.setdefault(_CHECKED, {})
    if file not in known:
        known[file] = _compared(file)
    return known[file]


def _above(folder: Path, contract: str) -> Path | None:
    return next((each / contract for each in (folder, *folder.parents) if (each / contract).exists()), None)


def _compared(file: Path) -> Authority | str:
    try:
        recorded = contract_at(file)
        source = compile_project(file.parent).manifest
    except (CompileError, DefinitionError) as problem:
        return str(problem)
    if recorded is None:
        return f"there is no {file.name}\n  do  remit compile; review; commit"
    if recorded.hash != source.hash:
        lines = "\n".join(f"  {line}" for line in drift(recorded, source))
        return f"{file.name} does not equal the source\n{lines}\n  do  remit compile; review; commit"
    return Authority(recorded)


def drift(recorded: Manifest, source: Manifest) -> list[str]:
    """What differs between a contract and the source, one line each: what, and which of its fields."""
    found: list[str] = []
    for old, new in zip(_blocks(recorded), _blocks(source), strict=True):
        for name in sorted(old.keys() | new.keys()):
            if name not in new:
                found.append(f"{name}  is in the contract only")
            elif name not in old:
                found.append(f"{name}  is in the source only")
            elif fields := _differing(old[name], new[name]):
                found.append(f"{name}  differs in {', '.join(fields)}")
    return found


def _differing(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    return [name for name in sorted(old.keys() | new.keys()) if name != "hash" and old.get(name) != new.get(name)]


def _blocks(manifest: Manifest) -> tuple[_Blocks, ...]:
    head = {
        "exposure": {door: list(texts) for door, texts in manifest.exposure.items()},
        "policies": list(manifest.policies),
    }
    return (
        cast(_Blocks, {"[tool.remit]": head}),
        manifest.components,
        {f"{id} of {component}": block for (component, id), block in manifest.capabilities.items()},
        {f"domain:{name}": record.to_json() for name, record in manifest.operations.items()},
    )
