"""The demonstration as a person starts it: the whole check, and an agent that visits a page and waits."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "examples.devices.demo"]


@pytest.mark.long  # CI makes this very run by `scripts/demo --check`
@pytest.mark.requirement("0-the-main-job")
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("browser")
def test_every_step_of_the_check_is_ok_with_client_door_and_browser() -> None:
    done = subprocess.run([*DEMO, "--check"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=170)
    assert done.stderr == ""
    *steps, last = done.stdout.splitlines()
    assert [line for line in steps if not line.startswith("ok  ")] == []
    told = re.fullmatch(r"demo: (\d+)/(\d+) steps ok, call p50 \d+\.\d ms", last)
    assert told is not None and told[1] == told[2] == str(len(steps)), last
    assert done.returncode == 0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str, Path]]:
    """A console that is being served: its address, the operator's password, and its state file."""
    state = tmp_path / "demo.json"
    command = [*DEMO, "--port", "0", "--state", str(state)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = ""
        while "Ctrl-C" not in told:
            line = process.stdout.readline()
            assert line, "it ended before it was ready"
            told += line
        url, password = re.search(r"(http://\S+)/devices", told), re.search(r"operator +(\S+)", told)
        assert url is not None and password is not None
        assert '"Authorization": "Bearer ' in told
        yield url[1], password[1], state
        process.send_signal(signal.SIGTERM)
        assert process.wait(50) == 0
    assert not state.exists()


@pytest.mark.requirement("0-the-main-job")
@pytest.mark.timeout(180)
def test_a_visiting_agent_waits_for_the_person(browser: Browser, served: tuple[str, str, Path]) -> None:
    url, password, state = served
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(f"{url}/login")
        tab.get_by_label("Account").fill("operator")
        tab.get_by_label("Password").fill(password)
        tab.get_by_role("button", name="Sign in").click()
        tab.locator("h1", has_text="Devices").wait_for()
        command = [*DEMO, "--agent", "--state", str(state)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as agent:
            tab.locator("section.remit-dialog").get_by_role("button", name="Approve exactly this").click(timeout=60_000)
            said, _ = agent.communicate(timeout=60)
        assert "ok  disable     you approved it, and it ran once" in said
        assert "RED" not in said
        assert agent.returncode == 0


def test_an_agent_without_a_console_to_visit_says_so(tmp_path: Path) -> None:
    command = [*DEMO, "--agent", "--state", str(tmp_path / "none.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 2
    assert "no console is being served" in done.stderr


def test_an_unknown_step_is_named(tmp_path: Path) -> None:
    command = [*DEMO, "--check", "--in-process", "--until", "lunch"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 2
    assert "there is no step 'lunch'; the steps are discover, filter" in done.stderr
