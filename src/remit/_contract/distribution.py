"""What is installed: distributions, which of their files count, and the digest of these (SPEC 13.5)."""

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from remit._base.boundary import Json, canonical
from remit._base.digest import sha256_hex

# Written by whoever installs, differently on every machine.
_OF_THE_INSTALLER: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
_SEPARATORS: Final = re.compile(r"[-_.]+")


def normal_name(name: str) -> str:
    """One spelling of the name of a distribution: lower case, with hyphens."""
    return _SEPARATORS.sub("-", name).lower()


@dataclass(frozen=True, kw_only=True, eq=False)
class Distribution:
    """One installed distribution.

    `files` are those of its record by their path there: without compiled Python, what the installer wrote, and what
    lies outside of the folder it is installed in, as scripts do. An `editable` one has no such record of its code;
    `folder` is then where its source is.
    """

    name: str
    version: str
    folder: Path
    editable: bool
    files: Mapping[str, Path]

    @cached_property
    def files_digest(self) -> str | None:
        """`sha256:…` over the path and the content of every file; None where the files are not fixed."""
        if self.editable or not self.files:
            return None
        held: dict[str, Json] = {path: _content(file) for path, file in self.files.items()}
        return "sha256:" + sha256_hex(canonical(held))

    def path_of(self, file: Path) -> str | None:
        """The path of a file in this distribution, with forward slashes; None for what does not belong to it."""
        try:
            path = file.relative_to(self.folder).as_posix()
        except ValueError:
            return None
        return path if self.editable or path in self.files else None


def installed(name: str) -> Distribution | None:
    """The installed distribution of a name; None where there is none."""
    try:
        return _read(metadata.distribution(name))
    except metadata.PackageNotFoundError:
        return None


def owner_of(file: Path) -> Distribution | None:
    """The installed distribution that a file belongs to; None for a file that nobody installed."""
    for entry in dict.fromkeys(Path(each).absolute() for each in sys.path if each):
        if not entry.is_dir():
            continue
        inside = file.relative_to(entry).as_posix() if file.is_relative_to(entry) else None
        for each in metadata.distributions(path=[str(entry)]):
            if (inside is not None and inside in (each.read_text("RECORD") or "")) or _source_of(each) is not None:
                found = _read(each)
                if found.path_of(file) is not None:
                    return found
    return None


def _read(each: metadata.Distribution) -> Distribution:
    source = _source_of(each)
    folder = source or Path(str(each.locate_file(""))).absolute()
    files = {} if source is not None else {path: folder / path for path in _listed(each)}
    return Distribution(
        name=normal_name(each.metadata["Name"]),
        version=each.version,
        folder=folder,
        editable=source is not None,
        files=MappingProxyType(files),
    )


def _source_of(each: metadata.Distribution) -> Path | None:
    """The folder of an editable installation."""
    try:
        origin = json.loads(each.read_text("direct_url.json") or "{}")
        if not origin.get("dir_info", {}).get("editable"):
            return None
        return Path(url2pathname(urlsplit(origin["url"]).path))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _listed(each: metadata.Distribution) -> Iterator[str]:
    for row in csv.reader((each.read_text("RECORD") or "").splitlines()):
        path = PurePosixPath(row[0]) if row else None
        if path is None or path.is_absolute() or ".." in path.parts or path.suffix == ".pyc":
            continue
        if not (path.parts[0].endswith(".dist-info") and path.name in _OF_THE_INSTALLER):
            yield path.as_posix()


def _content(file: Path) -> str | None:
    try:
        return sha256_hex(file.read_bytes())
    except OSError:
        return None
