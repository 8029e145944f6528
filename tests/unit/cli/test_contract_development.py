"""`remit dev`: a real program, real changes of its source, real signals. Nothing waits but for a line of output."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit._contract.development import HANDED
from remit._contract.manifest import FILE_NAME
from remit.compiler import compile_project, write_contract

pytestmark = pytest.mark.timeout(300)  # several compilations a test, each a process or two

REMIT = str(Path(sys.executable).with_name("remit"))
APP = '''
import sys

from remit import Authority, Component, action


class DevicesTable(Component, type="devices.table"):
    """Table of devices."""

    @action
    def select(self, ids: list[str]) -> None:
        """Select devices."""


if __name__ == "__main__":
    for line in sys.stdin:
        if line == "end\\n":
            sys.exit(7)
        try:
            authority = Authority.load(beside=__file__)
            print(authority.development, *sorted(authority.capability_ids), flush=True)
        except Exception as problem:
            print(type(problem).__name__, " ".join(str(problem).split()), flush=True)
'''
CLEAR = '''
    @action
    def clear(self) -> None:
        """Clear the table."""


if __name__'''
WITH_CLEAR = APP.replace("\n\nif __name__", CLEAR)
FIRST = (
    "contract  devices.table: 1 capability; development copy, refused in production. "
    "`remit compile` writes the one you commit\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return tmp_path


class Dev:
    """A running `remit dev`; `told` are its own lines, `said` those of the program."""

    def __init__(self, root: Path, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [REMIT, "dev", *arguments],
            cwd=root,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.keys, self.said, self.told = self.process.stdin, self.process.stdout, self.process.stderr

    def ask(self, line: str) -> str:
        """Have the program do something, and give what it said then."""
        self.keys.write(line + "\n")
        self.keys.flush()
        return self.said.readline()

    def close(self) -> None:
        """End whatever still runs."""
        self.process.kill()
        self.process.wait()
        self.said.read()  # the program has gone, too
        for pipe in (self.said, self.told):
            pipe.close()
        try:
            self.keys.close()
        except BrokenPipeError:
            pass


@pytest.fixture
def started(root: Path) -> Iterator[Dev]:
    dev = Dev(root, "--", sys.executable, "app.py")
    yield dev
    dev.close()


def script(root: Path, text: str) -> tuple[str, ...]:
    (root / "script.py").write_text(text, encoding="utf-8")
    return ("--", sys.executable, "script.py")


@pytest.mark.requirement("13.7-dev-hands-out", "13.7-dev-writes-nothing")
def test_a_program_is_handed_a_contract_that_lies_in_no_file(root: Path, started: Dev) -> None:
    assert started.told.readline() == FIRST
    assert started.ask("load") == "True view:devices.table.select\n"
    assert sorted(each.name for each in root.iterdir() if each.name != "__pycache__") == ["app.py", "pyproject.toml"]
    started.keys.write("end\n")
    started.keys.flush()
    assert started.process.wait() == 7
    assert started.said.read() == ""
    assert started.told.read() == ""


@pytest.mark.requirement("13.7-dev-tells-each-change", "13.7-dev-on-reload")
def test_a_program_that_loads_again_gets_the_contract_of_the_source_as_it_is_then(root: Path, started: Dev) -> None:
    assert started.ask("load") == "True view:devices.table.select\n"
    (root / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
    assert started.ask("load") == "True view:devices.table.clear view:devices.table.select\n"
    tighter = APP.replace("ids: list[str]", "ids: list[str], add: bool")
    (root / "app.py").write_text(tighter, encoding="utf-8")
    assert started.ask("load") == "True view:devices.table.select\n"
    assert [started.told.readline() for _ in range(4)] == [
        FIRST,
        "changed   app.py:14  + view:devices.table.clear  (widening: new capability)\n",
        "changed   app.py:10  ~ view:devices.table.select  input add: (none) → required: true or false  "
        "(widening, breaking)\n",
        "changed   - view:devices.table.clear  (narrowing: capability gone)\n",
    ]


@pytest.mark.requirement("13.7-dev-tells-each-change")
def test_a_change_is_told_when_it_is_saved(root: Path, started: Dev) -> None:
    assert started.told.readline() == FIRST
    (root / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
    assert started.told.readline() == "changed   app.py:14  + view:devices.table.clear  (widening: new capability)\n"
    exposed = '[tool.remit]\nentries = ["app"]\n[tool.remit.exposure]\nmcp = ["view:devices.table.clear"]\n'
    (root / "pyproject.toml").write_text(exposed, encoding="utf-8")
    assert started.told.readline() == (
        "changed   pyproject.toml [tool.remit.exposure]  ~ [tool.remit]  "
        "exposure mcp: (none) → view:devices.table.clear  (widening)\n"
    )


@pytest.mark.requirement("13.7-dev-keeps-the-last-good")
def test_a_source_that_does_not_compile_keeps_the_last_contract_that_did(root: Path, started: Dev) -> None:
    assert started.ask("load") == "True view:devices.table.select\n"
    assert started.told.readline() == FIRST
    (root / "app.py").write_text(APP.replace('type="devices.table"', "type=str()"), encoding="utf-8")
    assert started.ask("load") == "True view:devices.table.select\n"
    assert [started.told.readline() for _ in range(3)] == [
        "finding   app.py:7  type= is the expression `str()`\n",
        "            write  type= with a literal\n",
        "kept      the last contract that compiled; nothing that differs from it is mounted\n",
    ]
    (root / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
    started.ask("load")
    assert [started.told.readline() for _ in range(2)] == [
        "compiles  again\n",
        "changed   app.py:14  + view:devices.table.clear  (widening: new capability)\n",
    ]


@pytest.mark.requirement("13.7-dev-keeps-the-last-good")
def test_without_a_first_contract_nothing_is_started(root: Path) -> None:
    (root / "app.py").write_text("raise ValueError('no')\n", encoding="utf-8")
    ran = subprocess.run(
        [REMIT, "dev", *script(root, "print('started')")], cwd=root, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "app.py:1  importing app raised ValueError: no\n1 finding\n"


@pytest.mark.requirement("13.7-dev-writes-nothing")
def test_the_committed_contract_is_compared_and_never_written(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    committed = (root / FILE_NAME).read_bytes()
    (root / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
    dev = Dev(root, "--", sys.executable, "app.py")
    try:
        assert dev.ask("load") == "True view:devices.table.clear view:devices.table.select\n"
        assert dev.told.readline() == FIRST.replace("1 capability", "2 capabilities")
        assert dev.told.readline() == "changed   app.py:14  + view:devices.table.clear  (widening: new capability)\n"
        assert (root / FILE_NAME).read_bytes() == committed
    finally:
        dev.close()


@pytest.mark.requirement("13.7-dev-refused-in-production")
@pytest.mark.parametrize("said", ["production", "Production "])
def test_it_is_refused_in_production(root: Path, said: str) -> None:
    ran = subprocess.run(
        [REMIT, "dev", "--", sys.executable, "app.py"],
        cwd=root,
        env={**os.environ, "REMIT_ENV": said},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "remit dev is refused with REMIT_ENV=production\n"
        "  why  a development contract is reviewed by nobody        "
        "do  remit compile; review; commit; start the program itself\n"
    )


@pytest.mark.requirement("13.7-dev-refused-in-production")
def test_a_program_in_production_takes_no_development_contract(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    dev = Dev(root, "--", "env", "REMIT_ENV=production", sys.executable, "app.py")
    try:
        assert dev.ask("load") == (
            "RuntimeError a development contract is refused with REMIT_ENV=production "
            "why nobody reviewed it do unset REMIT_DEV, and start the program without remit dev\n"
        )
    finally:
        dev.close()


@pytest.mark.requirement("13.7-dev-hands-out")
def test_a_program_that_lost_its_remit_dev_takes_no_other_contract(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    ran = subprocess.run(
        [sys.executable, "app.py"],
        cwd=root,
        env={**os.environ, HANDED: "gone"},
        input="load\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.startswith("RuntimeError the remit dev that started this program has ended why REMIT_DEV is set")


@pytest.mark.requirement("13.7-dev-hands-out")
def test_another_project_below_the_same_program_reads_its_own_file(root: Path, tmp_path: Path) -> None:
    other = root / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    (other / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
    write_contract(other, compile_project(other).manifest)
    dev = Dev(root, "--", sys.executable, "other/app.py")
    try:
        assert dev.ask("load") == "False view:devices.table.clear view:devices.table.select\n"
    finally:
        dev.close()


@pytest.mark.requirement("13.7-dev-restart")
def test_a_program_that_does_not_reload_is_started_anew_on_request(root: Path) -> None:
    dev = Dev(
        root, "--restart", *script(root, "import app, sys\nprint(len(vars(app.DevicesTable)), flush=True)\ninput()")
    )
    try:
        first = int(dev.said.readline())
        (root / "app.py").write_text(WITH_CLEAR, encoding="utf-8")
        assert int(dev.said.readline()) == first + 1
    finally:
        dev.close()


SLEEPER = """
import signal, subprocess, sys
if len(sys.argv) == 1:
    inner = subprocess.Popen([sys.executable, __file__, "inner"])
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.requirement("13.7-dev-never-outlived")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)
def test_however_it_ends_nothing_of_the_program_is_left(root: Path, number: signal.Signals) -> None:
    dev = Dev(root, *script(root, SLEEPER))
    try:
        assert [dev.said.readline() for _ in range(2)] == ["ready\n"] * 2
        dev.process.send_signal(number)
        dev.process.wait()
        assert "ready" not in dev.said.read()  # ends when the last of them has let go of it
        assert dev.process.returncode == (-9 if number is signal.SIGKILL else 128 + number)
    finally:
        dev.close()


@pytest.mark.requirement("13.7-dev-never-outlived")
def test_what_a_program_leaves_behind_ends_with_it(root: Path) -> None:
    leaves = SLEEPER.replace("signal.pause", "len(sys.argv) > 1 and signal.pause")
    dev = Dev(root, *script(root, leaves + "\nsys.exit(0 if len(sys.argv) > 1 else 5)"))
    try:
        dev.said.read()
        assert dev.process.wait() == 5
    finally:
        dev.close()


STUBBORN = """
import signal
for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, lambda *_: print("no", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.requirement("13.7-dev-never-outlived")
def test_the_second_signal_ends_a_program_that_ignores_the_first(root: Path) -> None:
    dev = Dev(root, *script(root, STUBBORN))
    try:
        assert dev.said.readline() == "ready\n"
        dev.process.terminate()
        assert dev.said.readline() == "no\n"
        dev.process.terminate()
        assert dev.process.wait() == 128 + signal.SIGKILL
    finally:
        dev.close()


@pytest.mark.requirement("13.7-dev-never-outlived")
def test_in_a_terminal_the_keys_belong_to_the_program(root: Path) -> None:
    asks = """
try:
    print("said", input("name? "), flush=True)
    input()
except KeyboardInterrupt:
    raise SystemExit(4)
"""
    arguments = [REMIT, "dev", *script(root, asks)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(root)
        os.execv(REMIT, arguments)
    with os.fdopen(terminal, "rb+", buffering=0) as screen:
        shown = b""
        while b"name? " not in shown:
            shown += screen.read(1024)
        screen.write(b"Ada\n")
        while b"said Ada" not in shown:
            shown += screen.read(1024)
        screen.write(b"\x03")
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 4


@pytest.mark.requirement("13.7-dev-tells-each-change")
def test_what_cannot_be_started_exits_2(root: Path) -> None:
    ran = subprocess.run([REMIT, "dev", "--", "no-such-program"], cwd=root, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == FIRST + "no-such-program cannot be started: No such file or directory\n1 finding\n"
