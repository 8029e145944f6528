"""The guide's example against a real server: its files are what that server offers, and its calls arrive."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.orpc.backend import Backend

pytestmark = pytest.mark.xdist_group("orpc")

ROOT = Path(__file__).parents[2]
NAMES = ("devices.list", "devices.disable")


@pytest.mark.requirement("10.7-the-guide")
def test_the_example_of_the_guide_runs_against_a_real_server(orpc: Backend) -> None:
    if orpc.dialect == "1.x":
        assert read("contract") == {"devices": {name: orpc.contract["devices"][name] for name in ("list", "disable")}}
        assert operations(read("openapi")) == operations(orpc.document)
    ran = subprocess.run(
        [sys.executable, "docs_src/orpc.py"],
        cwd=ROOT,
        env={**os.environ, "FLEET_URL": f"{orpc.url}/rpc"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "('devices.disable', 'devices.list') {}" in ran.stdout
    assert "{ limit: 1 }" in ran.stdout and "dev-1 stolen Bearer ada" in ran.stdout
    assert orpc.last()["body"] == '{"json":{"id":"dev-1","reason":"stolen"}}'


def read(name: str) -> Any:
    return json.loads((ROOT / "docs_src" / "orpc" / f"{name}.json").read_text(encoding="utf-8"))


def operations(document: Any) -> dict[str, Any]:
    found = [node for item in document["paths"].values() for node in item.values()]
    return {node["operationId"]: node for node in found if node["operationId"] in NAMES}
