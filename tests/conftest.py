"""What every test may ask for: a free port, and one headless Chromium a process."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.error_matrix import Watch, watch

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

# A shared machine is no stopwatch, so examples have no time limit; in CI they are the same ones on every run.
hypothesis.settings.register_profile("remit", deadline=None, print_blob=True)
hypothesis.settings.register_profile("remit-ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("remit-ci" if os.environ.get("CI") else "remit")


ERRORS = watch()


@pytest.fixture(autouse=True)
def every_error_fits_the_matrix() -> Iterator[Watch]:
    """Whatever an agent was told in the test stands so in `spec/error-matrix.toml`."""
    yield ERRORS
    broken, ERRORS.broken = sorted(set(ERRORS.broken)), []
    assert broken == []


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long`: the runs that take minutes, or that a script of their own makes in CI; `--seed`: of what is random.

    `--row ID`: only the tests that hold this row of spec/requirements.toml.
    """
    parser.addoption("--long", action="store_true", help="run what takes minutes, too")
    parser.addoption(
        "--seed", type=int, default=None, help="the seed of the random runs of tests/oracle and tests/faults"
    )
    parser.addoption("--row", metavar="ID", default=None, help="only the tests that hold this row of the requirements")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the browser: it runs in a call of its own. Leave out what is long, unless it is asked for.

    A sync Playwright leaves its event loop in the thread, so no later test of the same process could start one.
    """
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    row = config.getoption("--row")
    if row is not None:
        others = [item for item in items if not any(row in mark.args for mark in item.iter_markers("requirement"))]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what a worker has measured before it says that it is done: soon after that it may be killed."""
    coverage = sys.modules.get("coverage")
    measured = None if coverage is None else coverage.Coverage.current()
    if measured is not None and hasattr(session.config, "workerinput"):
        measured.stop()
        measured.save()


@pytest.fixture
def free_port() -> int:
    """A TCP port of the loopback that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def missing(reason: str) -> NoReturn:
    """Skip a test for what this machine lacks; in CI, where the scripts install everything, it fails instead."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def chromium_path() -> str | None:
    """Where Chromium is, or None: the variable CHROMIUM first, then PATH."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Without one the test is skipped, but never in CI: there a missing browser is a failure."""
    path = chromium_path()
    if path is None or not Path(path).exists():
        missing("no Chromium: install it (scripts/setup does when root), or name it in CHROMIUM")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path,
            headless=True,
            args=CHROMIUM_FLAGS,
            # Chromium's own sandbox refuses root and hosts without user namespaces; pages under test are our own.
            chromium_sandbox=False,
        )
        yield launched
        launched.close()
