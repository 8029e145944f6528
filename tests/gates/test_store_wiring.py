"""Only the rooms that join the parts name a concrete store; everybody else knows the protocol."""

import ast
from pathlib import Path

WIRING = ("_surface", "_session", "cli", "gateway", "store")
PROTOCOL = ("remit.store.protocol", "remit.store.rows")


def stores(tree: ast.AST) -> list[str]:
    """What a module imports of `remit.store` beyond the protocol."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [
        name
        for name in found
        if (name == "remit.store" or name.startswith("remit.store."))
        and not any(name == each or name.startswith(f"{each}.") for each in PROTOCOL)
    ]


def faults(package: Path) -> list[str]:
    """Every import of a concrete store outside the wiring rooms."""
    return [
        f"{path.relative_to(package)}: {name}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in WIRING
        for name in stores(ast.parse(path.read_bytes()))
    ]


def test_only_the_wiring_rooms_import_concrete_stores(package: Path) -> None:
    assert faults(package) == []


def test_the_gate_sees_every_spelling_and_spares_the_protocol(tmp_path: Path) -> None:
    for room in ("_confirmation", "_surface"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "broker.py").write_text(
            "import remit.store.memory\n"
            "from remit.store.memory import MemoryStore\n"
            "from remit.store import memory, protocol\n"
            "from remit.store.protocol import Store\n"
            "import remit.storefront\n",
            encoding="utf-8",
        )
    assert faults(tmp_path) == [
        "_confirmation/broker.py: remit.store.memory",
        "_confirmation/broker.py: remit.store.memory.MemoryStore",
        "_confirmation/broker.py: remit.store.memory",
    ]
