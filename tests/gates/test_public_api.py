"""The public names are what spec/public-api.toml lists, and nothing else; their order in `__all__` is the linter's."""

import ast
import tomllib
from pathlib import Path

KINDS = frozenset({"class", "function", "decorator", "constant", "type", "module"})


def listed(file: Path) -> dict[str, list[str]]:
    """The names of each module in the list. A kind that does not exist is a fault of the list."""
    modules: dict[str, list[str]] = {}
    for row in tomllib.loads(file.read_text(encoding="utf-8")).get("module", []):
        names: dict[str, str] = row.get("names", {})
        unknown = sorted(f"{name}: {kind}" for name, kind in names.items() if kind not in KINDS)
        assert not unknown, f"{row['name']}: no such kind: {unknown}"
        assert row["name"] not in modules, f"{row['name']} stands twice in the list"
        modules[row["name"]] = list(names)
    return modules


def declared(file: Path) -> list[str] | None:
    """The `__all__` of a module, as written; None without one."""
    for node in ast.parse(file.read_bytes()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__" and isinstance(node, ast.Assign | ast.AnnAssign):
            assert node.value is not None
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def public_modules(package: Path) -> dict[str, Path]:
    """Every module that no leading underscore hides, by its dotted name."""
    found: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            found[".".join(parts)] = path
    return found


def faults(package: Path, file: Path) -> list[str]:
    """Where the list and the modules' own `__all__` differ. A module without one is public only if it is listed."""
    names = listed(file)
    modules = public_modules(package)
    found = [f"{module}: listed, but not there" for module in names if module not in modules]
    for module, path in modules.items():
        own = declared(path)
        if own is None:
            if module in names:
                found.append(f"{module}: listed, but has no __all__")
            continue
        if module not in names:
            found.append(f"{module}: has an __all__, but is not listed")
            continue
        found += [f"{module}.{name}: public, but not listed" for name in sorted(set(own) - set(names[module]))]
        found += [f"{module}.{name}: listed, but not public" for name in sorted(set(names[module]) - set(own))]
    return found


def test_public_names_equal_the_list(root: Path, package: Path) -> None:
    assert faults(package, root / "spec" / "public-api.toml") == []


def test_the_gate_sees_both_directions(tmp_path: Path) -> None:
    package = tmp_path / "remit"
    (package / "_inner").mkdir(parents=True)
    (package / "__init__.py").write_text("__all__ = ['b', 'a', 'extra']\n", encoding="utf-8")
    (package / "errors.py").write_text("__all__: list[str] = ['Code']\n", encoding="utf-8")
    (package / "policies.py").write_text("x = 1\n", encoding="utf-8")
    (package / "_inner" / "hidden.py").write_text("__all__ = ['y']\n", encoding="utf-8")
    file = tmp_path / "public-api.toml"
    file.write_text(
        '[[module]]\nname = "remit"\n[module.names]\na = "class"\nb = "function"\nmissing = "class"\n'
        '[[module]]\nname = "remit.gone"\n[[module]]\nname = "remit.policies"\n',
        encoding="utf-8",
    )
    assert faults(package, file) == [
        "remit.gone: listed, but not there",
        "remit.extra: public, but not listed",
        "remit.missing: listed, but not public",
        "remit.errors: has an __all__, but is not listed",
        "remit.policies: listed, but has no __all__",
    ]
