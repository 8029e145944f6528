"""`remit init`: what it finds, what it writes, and that the lines it prints work where it says they go."""

import os
import re
import socket
import subprocess
import sys
import textwrap
import tomllib
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit.cli import main
from remit.cli.found import Page, applications
from remit.cli.pasting import class_name
from remit.compiler import compile_project, write_contract

pytestmark = pytest.mark.timeout(300)  # starts a real server

REPOSITORY = Path(__file__).parents[3]
REMIT = str(Path(sys.executable).with_name("remit"))
NICEGUI = """
from nicegui import ui


@ui.page("/devices")
def devices() -> None:
    ui.label("Devices")


@ui.page("/")
def index() -> None:
    ui.label("Welcome")


ui.run(port=PORT, show=False)
"""
STARLETTE = """
import asyncio

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


app = Starlette(routes=[Route("/", home)])
"""
FASTAPI = """
from fastapi import FastAPI

app = FastAPI()


@app.get("/orders")
def orders() -> list[str]:
    return []


@app.post("/orders")
def add() -> None: ...
"""


def init(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", "--project", str(root), *arguments])


def project(root: Path, text: str, file: str = "app.py") -> Path:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text, encoding="utf-8")
    return root


def blocks(printed: str) -> dict[str, str]:
    """What was printed to be pasted, by its name."""
    found = re.findall(r"^(\w+)  \S.*\n\n((?:(?:    .*)?\n)+)", printed + "\n", re.MULTILINE)
    return {name: textwrap.dedent(text).strip("\n") for name, text in found}


def pasted(source: str, printed: str, page: str, **other: str) -> str:
    """The source with every block where it was said to go; `other` blocks are put there instead."""
    block = blocks(printed) | other
    imports = f"{block['imports']}\n{source}"
    above = "\n\n".join(block[name] for name in ("component", "login", "attach"))
    head, at, tail = imports.partition(page)
    signature, newline, body = tail.partition("\n")
    return f"{head}{above}\n\n\n{at}{signature}{newline}{textwrap.indent(block['mount'], '    ')}\n{body}"


@pytest.mark.requirement("13.7-init-writes")
def test_it_says_what_it_found_and_wrote_and_touches_no_source(tmp_path: Path) -> None:
    root = project(tmp_path, NICEGUI)
    (root / ".github" / "workflows").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "devices"\nversion = "1"', encoding="utf-8")
    (root / ".gitignore").write_text("build", encoding="utf-8")
    ran = init(root)
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[:3] == [
        "found     NiceGUI in app.py, 2 pages",
        "wrote     [tool.remit] in pyproject.toml, tests/test_agents.py, .gitignore (+2), .github/workflows/remit.yml"
        "     your code was not touched",
        'paste     into app.py: the 2 lines of "attach"; into one page: 1 line of "mount"'
        "     (printed below, for your file)",
    ]
    assert (root / "app.py").read_text(encoding="utf-8") == NICEGUI
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["name"] == "devices"
    assert settings["tool"]["remit"] == {"entries": ["app"], "policies": ["authenticated"], "exposure": {"mcp": []}}
    assert (root / ".gitignore").read_text(encoding="utf-8").splitlines() == [
        "build",
        "# remit: a contract that was being written",
        ".remit.contract.json.*",
    ]
    workflow = (root / ".github/workflows/remit.yml").read_text(encoding="utf-8")
    assert workflow.endswith(
        '      - run: pip install .\n      - run: remit check --base "origin/${{ github.base_ref }}" --format github\n'
    )
    assert str(root) not in ran.output


@pytest.mark.requirement("13.7-init-writes")
def test_a_second_run_changes_nothing_and_says_so(tmp_path: Path) -> None:
    root = project(tmp_path, FASTAPI, "src/shop/main.py")
    first = init(root)
    assert "found     FastAPI in src/shop/main.py, 1 page" in first.stdout
    assert 'entries = ["shop.main"]' in (root / "pyproject.toml").read_text(encoding="utf-8")
    (root / "tests/test_agents.py").write_text("# mine now\n", encoding="utf-8")
    before = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
    second = init(root)
    assert second.stdout.splitlines()[1] == (
        "kept      [tool.remit] in pyproject.toml, tests/test_agents.py     as they were"
    )
    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == before
    assert "ci  a step of the pipeline" in second.stdout


@pytest.mark.requirement("13.7-init-writes")
def test_the_first_test_passes_and_fails_on_drift(tmp_path: Path) -> None:
    root = project(tmp_path, STARLETTE)
    init(root)
    write_contract(root, compile_project(root).manifest)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(root),
        str(root / "tests"),
    ]
    passed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert passed.returncode == 0, passed.stdout
    (root / "remit.contract.json").unlink()
    failed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "do  remit compile" in failed.stdout


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
def test_the_lines_for_nicegui_serve_where_they_were_said_to_go(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    root = project(tmp_path, NICEGUI.replace("PORT", str(port)))
    printed = init(root).stdout
    assert "app.py:15  put `if __name__ in" in printed and "app.py:15  ui.run(…) needs storage_secret=…" in printed
    text = pasted(
        (root / "app.py").read_text(encoding="utf-8"), printed, '@ui.page("/devices")\ndef devices() -> None:'
    )
    text = text.replace("ui.run(", 'if __name__ in {"__main__", "__mp_main__"}:\n    ui.run(storage_secret="secret", ')
    (root / "app.py").write_text(text, encoding="utf-8")
    # NiceGUI serves otherwise when it believes that it is under test.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    with subprocess.Popen(
        [REMIT, "dev", "--", sys.executable, "app.py"], cwd=root, stderr=subprocess.PIPE, text=True, env=outside
    ) as dev:
        assert dev.stderr is not None
        try:
            lines = iter(dev.stderr.readline, "")
            assert next(lines).startswith("contract  devices.page: 1 capability; development copy")
            serving = next(line for line in lines if line.startswith("agents"))
            url = serving.split()[1]
            assert url == f"http://127.0.0.1:{port}/remit/mcp"
            with urllib.request.urlopen(url.replace("/remit/mcp", "/devices"), timeout=60) as page:
                assert page.status == 200
            (root / "app.py").write_text(text.replace("What the person sees here.", "What is here."), encoding="utf-8")
            assert [next(line for line in lines if line.startswith(label))[:7] for label in ("changed", "agents")]
        finally:
            dev.terminate()


DRIVE = """
async def drive() -> None:
    sent, left = [], asyncio.Event()
    async def send(message):
        sent.append(message)
    usual = {
        "query_string": b"", "session": {"name": "ada"}, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "headers": [(b"host", b"localhost"), (b"origin", b"http://localhost")],
    }
    async def asked():
        return {"type": "http.request"}
    await app({"type": "http", "method": "GET", "path": "/", **usual}, asked, send)
    view = re.search('content="([^"]+)"', sent[-1]["body"].decode()).group(1)
    said = [{"type": "websocket.receive", "text": json.dumps({"view": view})}, {"type": "websocket.connect"}]
    async def told():
        if said:
            return said.pop()
        await left.wait()
        return {"type": "websocket.disconnect"}
    page = asyncio.create_task(app({"type": "websocket", "path": "/remit/view", **usual}, told, send))
    while not agents.views(Principal("ada")):
        await asyncio.sleep(0)
    agent = agents.views(Principal("ada"))[0].surface.connect(Consumer("copilot", kind="embedded"))
    print((await agent.call("view:home.page.readState")).output)
    left.set()
    await page
    print(len(agents.views(Principal("ada"))))

if __name__ == "__main__":
    asyncio.run(drive())
"""


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
def test_the_lines_for_starlette_open_the_view_of_a_page(tmp_path: Path) -> None:
    root = project(tmp_path, STARLETTE)
    printed = init(root).stdout
    assert 'the 2 lines of "attach"; into one page: 2 lines of "mount"' in printed
    assert "attach  below the application (app.py:14)" in printed and "change" not in printed
    block = blocks(printed)
    text = pasted(STARLETTE, printed, "async def home(request: Request) -> PlainTextResponse:", attach="")
    text = text.replace('PlainTextResponse("ok")', f'HTMLResponse(f"<head>{block["head"]}</head>")')
    text = text.replace("PlainTextResponse", "HTMLResponse") + f"\n{block['attach']}\n{DRIVE}"
    (root / "app.py").write_text("import json\nimport re\n\nfrom remit import Consumer\n" + text, encoding="utf-8")
    ran = subprocess.run(
        [REMIT, "dev", "--", sys.executable, "app.py"], cwd=root, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "nothing yet\n0\n"), ran.stderr


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
def test_a_page_that_awaits_nothing_is_named_and_fastapi_attaches_above_its_pages(tmp_path: Path) -> None:
    printed = init(project(tmp_path, FASTAPI)).stdout
    assert "change    app.py:8  write `async def orders`: a view is opened in the event loop" in printed
    assert "attach  below that" in printed
    assert blocks(printed)["attach"].endswith("agents = attach(app, gateway, login=current_user)")


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
def test_a_nicegui_application_inside_another_one_is_attached_to_the_outer_one(tmp_path: Path) -> None:
    text = FASTAPI + "\nfrom nicegui import ui\n\nui.run_with(app, storage_secret='s')\n"
    printed = init(project(tmp_path, text)).stdout
    assert "found     NiceGUI in app.py, 0 pages" in printed
    assert "agents = attach(gateway, login=current_user, outer=app)" in blocks(printed)["attach"]
    assert "nicegui_app.storage.user" in blocks(printed)["login"]
    assert "from nicegui import app as nicegui_app" in blocks(printed)["imports"]


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
@pytest.mark.parametrize(
    ("function", "component"),
    [
        ("orders", "OrdersPage"),
        ("orders_page", "OrdersPage"),
        ("ordersPage", "OrdersPage"),
        ("page_of_orders", "PageOfOrdersPage"),
        ("page", "MainPage"),
    ],
)
def test_the_component_of_a_page_says_once_that_it_is_one(function: str, component: str) -> None:
    assert class_name(Page(name=function, top=1, line=2)) == component


@pytest.mark.requirement("13.7-init-prints-what-to-paste")
def test_the_page_of_the_first_hour_shows_what_is_printed(tmp_path: Path) -> None:
    root = project(tmp_path, (REPOSITORY / "docs_src/first_hour/app.py").read_text(encoding="utf-8"))
    (root / ".git").mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "devices"\nversion = "1.0"\n', encoding="utf-8")
    page = (REPOSITORY / "docs/guides/first-hour.md").read_text(encoding="utf-8")
    assert f"$ remit init\n{init(root).stdout.rstrip()}\n```" in page


@pytest.mark.requirement("13.7-init-refuses-bad-projects")
def test_a_project_that_cannot_be_extended_is_refused_with_what_to_do_and_nothing_is_written(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, str | bytes], str]] = [
        (
            {},
            "no Python application here: nothing calls ui.run(…), FastAPI(…) or Starlette(…)\n  write  remit init",
        ),
        (
            {"web.py": FASTAPI, "admin.py": FASTAPI},
            "several applications start here: admin.py, web.py\n  write  remit init admin.py\n",
        ),
        ({"app.py": FASTAPI, "pyproject.toml": "[tool"}, "pyproject.toml  is no TOML: "),
        (
            {"app.py": FASTAPI, "pyproject.toml": "tool = {ruff = {}}"},
            "pyproject.toml  [tool.remit] cannot be added at its end\n  write  [tool.remit]\n",
        ),
        ({"app.py": FASTAPI, "pyproject.toml": b"\xff"}, "pyproject.toml  cannot be read: UnicodeDecodeError"),
    ]
    for number, (files, said) in enumerate(cases):
        root = tmp_path / str(number)
        root.mkdir()
        for name, text in files.items():
            (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        ran = init(root)
        assert ran.exit_code == 2
        assert said in ran.stderr
        assert sorted(each.name for each in root.iterdir()) == sorted(files)
        assert str(tmp_path) not in ran.output


@pytest.mark.requirement("13.7-init-refuses-bad-projects")
def test_a_named_file_decides_between_several(tmp_path: Path) -> None:
    root = project(project(tmp_path, FASTAPI, "web.py"), FASTAPI, "admin.py")
    ran = init(root, str(root / "web.py"))
    assert ran.exit_code == 0 and "found     FastAPI in web.py" in ran.stdout
    assert [each.path for each in applications(root)] == ["admin.py", "web.py"]
    (root / "empty.py").write_text("", encoding="utf-8")
    assert "empty.py starts no application" in init(root, str(root / "empty.py")).stderr
