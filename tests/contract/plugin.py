"""A small distribution that ships a component: built as a wheel, and installed as installers do, without a network."""

import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from hatchling.build import build_editable, build_wheel

NAME = "acme-plugin"
SETTINGS = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "Acme.Plugin"
version = "{version}"
[project.scripts]
acme = "acme_plugin:main"
[tool.hatch.build]
dev-mode-dirs = ["src"]
[tool.hatch.build.targets.wheel]
packages = ["src/acme_plugin"]
"""
COMPONENT = '''
from typing import Annotated

from pydantic import Field

from remit import Component, Procedures, action, observation, reference

backend = Procedures()


@backend.operation("acme.wipe", effect="destructive")
async def wipe(disk: int) -> int:
    """Wipe a disk."""
    return disk


class Tool(Component, type="acme.tool"):
    """A tool of the plugin."""

    @observation
    def read(self) -> str:
        """What it says."""
        return "as shipped"

    @action
    def turn(self, by: Annotated[int, Field(ge=1)]) -> None:
        """Turn it."""

    wipe = reference("domain:acme.wipe")
'''
FILES = {"__init__.py": "", "tool.py": COMPONENT, "data.txt": "data"}


def source(folder: Path, files: Mapping[str, str] = FILES, version: str = "1.0") -> Path:
    """The plugin as its author keeps it."""
    for name, text in ({"pyproject.toml": SETTINGS.format(version=version)} | under("src/acme_plugin", files)).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def under(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    """The same files in a folder."""
    return {f"{folder}/{name}": text for name, text in files.items()}


def install(folder: Path, site: Path, files: Mapping[str, str] = FILES, version: str = "1.0") -> None:
    """Build a wheel of the plugin in `folder` and install it into `site`."""
    source(folder, files, version)
    out = folder / "dist"
    out.mkdir(exist_ok=True)
    with chdir(folder):
        wheel = out / build_wheel(str(out))
    _unpack(wheel, site, {})


def install_editable(folder: Path, site: Path, files: Mapping[str, str] = FILES) -> None:
    """Install the plugin so that its source stays where it is."""
    source(folder, files)
    out = folder / "dist"
    out.mkdir(exist_ok=True)
    with chdir(folder):
        wheel = out / build_editable(str(out))
    _unpack(wheel, site, {"dir_info": {"editable": True}, "url": folder.absolute().as_uri()})


def _unpack(wheel: Path, site: Path, origin: Mapping[str, object]) -> None:
    """Unpack a wheel and write beside it what an installer does: scripts, compiled Python, and its own notes."""
    site.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    (info,) = site.glob("[Aa]cme_[Pp]lugin-*.dist-info")
    (info / "INSTALLER").write_text("by hand\n", encoding="utf-8")
    added = [f"{info.name}/INSTALLER,,", "../bin/acme,,", "acme_plugin/__pycache__/tool.cpython-311.pyc,,"]
    if origin:
        (info / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
        added.append(f"{info.name}/direct_url.json,,")
    with (info / "RECORD").open("a", encoding="utf-8") as record:
        record.write("\n".join([*added, ""]))


def found_at(*folders: Path) -> str:
    """`PYTHONPATH` for these folders."""
    return os.pathsep.join(str(folder) for folder in folders)
