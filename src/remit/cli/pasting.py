"""The lines that `remit init` prints for an application: they work as they are, where they are said to go (FEEL 2)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from remit.cli.found import Application, Framework, Page
from remit.cli.report import counted

_MAKERS: Final = ("FastAPI", "fastapi.FastAPI", "Starlette", "starlette.applications.Starlette")
GUARD: Final = 'if __name__ in {"__main__", "__mp_main__"}:'


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines for one place of one file: what they are, where they go, and the text, without its indentation there."""

    what: str
    where: str
    text: str


def summary(application: Application) -> str:
    """`into app.py: the 2 lines of "attach"; into one page: 1 line of "mount"`."""
    attach, mount = (len(_lines(application, what).splitlines()) for what in ("attach", "mount"))
    first, second = (counted(number, "line", "lines") for number in (attach, mount))
    return f'into {application.path}: the {first} of "attach"; into one page: {second} of "mount"'


def lines_for(application: Application) -> list[Lines]:
    """Everything to paste, from the top of the file to its end."""
    page = _first_page(application)
    above = f"above the first page ({application.path}:{page.top})" if page else f"in {application.path}"
    inside = f"inside {page.name}, {application.path}:{page.line}" if page else "inside the function of a page"
    rendered = application.framework is not Framework.NICEGUI
    if rendered:
        inside += "; give it a parameter `request: Request`"
    lines = [
        Lines(what="imports", where=f"at the top of {application.path}", text=_lines(application, "imports")),
        Lines(what="component", where=above, text=_component(page)),
        Lines(what="login", where="below it", text=_lines(application, "login")),
        Lines(what="attach", where=_after_application(application), text=_lines(application, "attach")),
        Lines(what="mount", where=inside, text=_lines(application, "mount")),
    ]
    if rendered:
        where = "in the <head> of what it answers; a template gets it as a value, and takes it as it is"
        lines.append(Lines(what="head", where=where, text="{view.head()}"))
    return lines


def _after_application(application: Application) -> str:
    """Where `attach` goes: below what it names, the login and the application."""
    page, made = _first_page(application), application.call(*_MAKERS)
    if application.framework is Framework.NICEGUI or made is None or page is None or made.line < page.top:
        return "below that"
    return f"below the application ({application.path}:{made.line})"


def notes(application: Application) -> Iterator[str]:
    """What else the lines need of this file."""
    serving = application.unguarded
    if serving is not None:
        yield f"{application.path}:{serving.line}  put `{GUARD}` before {serving.name}(…), so that this can be compiled"
    started = application.call("ui.run", "ui.run_with")
    if started is not None and "storage_secret" not in started.keywords:
        place = f"{application.path}:{started.line}"
        yield f"{place}  {started.name}(…) needs storage_secret=…: who is signed in is in the session"
    page = _first_page(application)
    if application.framework is not Framework.NICEGUI and page is not None and not page.awaits:
        yield f"{application.path}:{page.line}  write `async def {page.name}`: a view is opened in the event loop"


def class_name(page: Page | None) -> str:
    """The name of the first component: that of the page it stands on."""
    words = re.findall("[a-z0-9]+", page.name.lower()) if page else []
    if words:
        words = [word for word in (*words[:-1], words[-1].removesuffix("page")) if word]
    return "".join(word.capitalize() for word in words or ["main"]) + "Page"


def _lines(application: Application, what: str) -> str:
    nicegui = application.framework is Framework.NICEGUI
    text = (_NICEGUI if nicegui else _ASGI)[what]
    outer = application.call("ui.run_with")
    session = "app" if "app" in application.names and application.variable != "app" else "nicegui_app"
    imported = [f"from nicegui import app as {session}"] if session != "app" else []
    return text.format(
        app=application.variable or "app",
        outer=f", outer={outer.first}" if outer is not None and outer.first else "",
        session=session,
        component=class_name(_first_page(application)),
        session_import="\n".join([*imported, ""]),
    )


def _first_page(application: Application) -> Page | None:
    return application.pages[0] if application.pages else None


def _component(page: Page | None) -> str:
    name = class_name(page)
    kind = re.sub("[^a-z0-9]+", "-", name.removesuffix("Page").lower()).strip("-")
    type_name = f"{kind}.page" if kind[:1].isalpha() else f"page-{kind}.page"
    return _COMPONENT.format(name=name, type=type_name)


_COMPONENT: Final = '''\
class {name}(Component, type="{type}"):
    """What an agent reads about this page."""

    @observation
    def read_state(self) -> str:
        """What the person sees here."""
        return "nothing yet"'''

_NICEGUI: Final = {
    "imports": """\
{session_import}from remit import Authority, Component, Principal, observation
from remit.gateway import Gateway
from remit.integrations.nicegui import attach
from remit.policies import authenticated""",
    "login": '''\
def current_user() -> Principal | None:
    """Who is signed in; None: nobody, and an agent sees nothing."""
    name = {session}.storage.user.get("name")
    return Principal(name) if name else None''',
    "attach": """\
gateway = Gateway(Authority.load(beside=__file__), policies=[authenticated()])
agents = attach(gateway, login=current_user{outer})""",
    "mount": "agents.mount({component}())",
}

_ASGI: Final = {
    "imports": """\
from starlette.requests import Request
from remit import Authority, Component, Principal, observation
from remit.gateway import Gateway
from remit.integrations.asgi import attach
from remit.policies import authenticated""",
    "login": '''\
def current_user(request: Request) -> Principal | None:
    """Who is signed in; None: nobody, and an agent sees nothing."""
    name = request.scope.get("session", {{}}).get("name")
    return Principal(name) if name else None''',
    "attach": """\
gateway = Gateway(Authority.load(beside=__file__), policies=[authenticated()])
agents = attach({app}, gateway, login=current_user)""",
    "mount": """\
view = await agents.open_view(request)
view.mount({component}())""",
}
