"""No file names a package index host or a path of somebody's machine: packages come from where the user's do."""

import re
from pathlib import Path

import pytest

# Written in halves, so that this file does not match itself.
HOSTS = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry.np" + "mjs",
    "registry.ya" + "rnpkg",
    "deb.deb" + "ian.org",
)
FOLDERS = ("ho" + "me", "Us" + "ers", "ro" + "ot", "wo" + "rk", "fa" + "rm", "tmp/br" + "ief")
PATTERN = re.compile(
    "|".join(re.escape(host) for host in HOSTS)
    + rf"|(?<![\w./}}-])/(?:{'|'.join(FOLDERS)})/\w"
    + r"|(?<![\w/])\.lib"
    + "rary/"
)


def faults(files: list[Path], root: Path) -> list[str]:
    """Every line that names a host or a path; what is not text has no words."""
    found: list[str] = []
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{file.relative_to(root)}:{number}: {match.group()}"
            for number, line in enumerate(lines, 1)
            if (match := PATTERN.search(line))
        ]
    return found


def test_no_file_names_an_index_host_or_somebodys_path(root: Path, tracked: list[Path]) -> None:
    assert root / "pyproject.toml" in tracked
    assert faults(tracked, root) == []


@pytest.mark.parametrize(
    "line",
    [
        "url = https://files.python" + "hosted.org/a.whl",
        '"resolved": "https://registry.np' + 'mjs.org/a"',
        "see /wo" + "rk/main",
        "cd '/ho" + "me/ada/remit'",
        "(.lib" + "rary/index)",
    ],
)
def test_the_gate_sees_hosts_and_paths(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(f"fine\n{line}\n", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff" + line.encode())
    (reported,) = faults([tmp_path / "notes.md", tmp_path / "picture.png"], tmp_path)
    assert reported.startswith("notes.md:2: ")


@pytest.mark.parametrize(
    "line", ["https://example.org/wo" + "rk/1", "src/ro" + "ot/a.py", "{base}/ho" + "me/x", "a library/"]
)
def test_the_gate_spares_urls_and_relative_paths(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(line, encoding="utf-8")
    assert faults([tmp_path / "notes.md"], tmp_path) == []
