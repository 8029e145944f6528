"""The served console and the browsers of its accounts: one of each for all tests, since NiceGUI is one a process."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.e2e.served_console import Served, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "devices"
# The examples are projects of their own: their modules are found from their own folders.
sys.path.insert(0, str(EXAMPLE.parent / "orders"))
# Longer than any wait under load; what takes no time is not waited for.
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    # The example is a project of its own: its modules are found from its own folder.
    sys.path.insert(0, str(EXAMPLE))
    outer, handles = import_module("app").create(tmp_path_factory.mktemp("console"))
    with serving(outer, handles) as console:
        yield console


@pytest.fixture(scope="session")
def signed_in(served: Served, browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """One browser for each account, kept so that only the first page loads the framework's files."""
    contexts = {}
    for person in served.handles.people:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(PATIENCE_MS)
        form = {"name": person.name, "password": person.password}
        answer = context.request.post(f"{served.base}/login", form=form, max_redirects=0)
        assert answer.headers["location"] == "/devices"
        contexts[person.name] = context
    yield contexts
    for context in contexts.values():
        context.close()


@pytest.fixture
def people(served: Served, signed_in: dict[str, BrowserContext]) -> Iterator[dict[str, BrowserContext]]:
    """The browsers of all accounts; without an open page before and after the test."""
    yield signed_in
    for context in signed_in.values():
        for page in context.pages:
            page.close()
    for view in served.views():
        served.forget(view)


@pytest.fixture
def operator(people: dict[str, BrowserContext]) -> BrowserContext:
    """The browser of somebody who may change and approve."""
    return people["operator"]
