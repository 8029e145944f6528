"""Doors under a harness: what is loaded when, how they end, and the fixture that runs a test at each (SPEC 16.1)."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from remit._contract.manifest import FILE_NAME
from remit.compiler import compile_project
from remit.testing.in_memory import InMemory
from remit.testing.serving import Serving
from tests.unit.testing.test_pytest_plugin import APP

CONFTEST = """
from remit.testing.pytest_plugin import remit_harness

harness = remit_harness(principal="operator", over=["test", "mcp", "mcp-http"])
"""

LOOPS = "asyncio_default_fixture_loop_scope=function"

COUNTING = """
    with harness.mount(Counter()):
        assert assert_ok(await harness.call(Counter.increment, {"by": 2})) == 2
        assert await harness.observe(Counter.read_value) == 2
"""

BLOCKING = f"""
import asyncio
from app import Counter
from remit.testing import assert_ok

async def count(harness):{COUNTING}

def test_counting(harness):
    asyncio.run(count(harness))
    print(harness.consumer.kind)
"""

ASYNC = f"""
from app import Counter
from remit.testing import assert_ok

async def test_counting(harness):{COUNTING}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose contract opens the MCP door."""
    root = tmp_path_factory.mktemp("project")
    settings = '[tool.remit]\nentries = ["app"]\n[tool.remit.exposure]\nmcp = ["view:**"]\n'
    (root / "pyproject.toml").write_text(settings, encoding="utf-8")
    (root / "app.py").write_text(APP, encoding="utf-8")
    (root / "checks").mkdir()
    (root / "checks" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (root / FILE_NAME).write_bytes(compile_project(root).manifest.to_bytes())
    return root


@pytest.mark.requirement("16.1-the-fixture-runs-a-test-at-each-door")
@pytest.mark.parametrize("plugin", ["none", "pytest_asyncio", "anyio"])
def test_a_test_runs_once_for_each_door_and_leaves_nothing_open(project: Path, plugin: str) -> None:
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONASYNCIODEBUG": "0"}
    options = ["-vv", "-p", "no:cacheprovider", "-o", "pythonpath=.", "-o", "addopts=", "-W", "error", "checks"]
    match plugin:
        case "none":
            source = BLOCKING
        case "pytest_asyncio":
            source, options = ASYNC, ["-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto", "-o", LOOPS, *options]
        case _:
            source = "import pytest\npytestmark = pytest.mark.anyio\n" + ASYNC
            source += "\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
            options = ["-p", "anyio.pytest_plugin", *options]
    (project / "checks" / "test_counter.py").write_text(source, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options], check=False, capture_output=True, text=True, cwd=project, env=plain
    )
    assert "3 passed" in ran.stdout, ran.stdout
    for door in ("test", "mcp", "mcp-http"):
        assert f"test_counting[{door}] PASSED" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.requirement("16.1-a-door-is-loaded-when-it-is-asked-for")
def test_the_kit_alone_loads_no_door_and_says_what_is_missing_when_one_is_asked_for() -> None:
    code = """
import sys
import remit.testing
loaded = [name for name in sys.modules if name.split(".")[0] in {"mcp", "mcp_types", "starlette", "uvicorn", "httpx2"}]
assert loaded == [], loaded
sys.modules["mcp"] = None  # as if it were not installed
from remit.testing.doors import open_door, Behind
from types import SimpleNamespace
try:
    open_door("mcp", SimpleNamespace(era="modern"))
except RuntimeError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ran.stderr == ""
    assert ran.stdout == "the door 'mcp' needs mcp, which is not installed\n  do  pip install 'remit[mcp]'\n"


class Resource:
    """Counts how often it was opened and left."""

    def __init__(self) -> None:
        self.opened = self.left = 0
        self.broken = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        self.opened += 1
        if self.broken:
            raise OSError("no port")
        try:
            yield "it"
        finally:
            await asyncio.sleep(0)
            self.left += 1


class TestServing:
    """One task enters and leaves, whoever asks."""

    async def test_it_is_opened_once_by_the_first_who_asks_and_not_again_after_its_end(self) -> None:
        resource = Resource()
        serving = Serving(resource.open)
        serving.close()  # nothing has been opened
        assert list(await asyncio.gather(serving.get(), serving.get())) == ["it", "it"]
        await serving.aclose()
        await serving.aclose()
        assert (resource.opened, resource.left) == (1, 1)
        with pytest.raises(RuntimeError, match="has been closed"):
            await serving.get()

    async def test_what_opening_raises_is_raised_where_it_is_asked_for(self) -> None:
        resource = Resource()
        resource.broken = True
        with pytest.raises(OSError, match="no port"):
            await Serving(resource.open).get()

    def test_it_is_left_when_its_loop_ends_and_when_its_loop_stands_still(self) -> None:
        resource = Resource()
        first, second = Serving(resource.open), Serving(resource.open)
        asyncio.run(first.get())
        assert resource.left == 1
        first.close()
        with asyncio.Runner() as runner:
            runner.run(second.get())
            assert resource.left == 1
            second.close()
            assert resource.left == 2

    def test_another_loop_is_refused(self) -> None:
        serving = Serving(Resource().open)
        asyncio.run(serving.get())
        with pytest.raises(RuntimeError, match="one event loop"):
            asyncio.run(serving.get())


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers as its path says."""
    request = Request(scope, receive)
    answer: Response
    if scope["path"] == "/broken":
        raise RuntimeError("broken")
    if scope["path"] == "/hang":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"
        LEFT.set()
        return
    answer = PlainTextResponse(f"{request.method} {request.url} {(await request.body()).decode()}", 201)
    await answer(scope, receive, send)


LEFT = asyncio.Event()


class TestInMemory:
    """HTTP without a socket."""

    async def test_a_request_arrives_whole_and_its_answer_too(self) -> None:
        async with httpx2.AsyncClient(transport=InMemory(application)) as http:
            answer = await http.post("http://127.0.0.1:8000/a%20b?c=d", content=b"body")
            assert (answer.status_code, answer.text) == (201, "POST http://127.0.0.1:8000/a b?c=d body")
            with pytest.raises(RuntimeError, match="broken"):
                await http.get("http://127.0.0.1/broken")

    async def test_an_answer_arrives_as_it_is_made_and_a_client_that_leaves_is_a_disconnect(self) -> None:
        LEFT.clear()
        async with httpx2.AsyncClient(transport=InMemory(application)) as http:
            async with http.stream("GET", "http://127.0.0.1/hang") as answer:
                assert await anext(answer.aiter_bytes()) == b"first"
                assert not LEFT.is_set()
            await LEFT.wait()
