"""The sign-in page: a plain form, so that password managers work and the session's id changes with the person."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response
from nicegui import app, ui

from console.people import LOGIN, SignIns

_SEE_OTHER = 303


def add_sign_in(sign_ins: SignIns) -> None:
    """Add `/login` and `/logout` to NiceGUI's application."""

    @ui.page("/login", title="Sign in · Fleet console")
    def login_page(failed: bool = False) -> Response | None:
        if sign_ins.current() is not None:
            return RedirectResponse("/devices", _SEE_OTHER)
        ui.colors(primary="#0550ae")
        ui.context.client.content.classes("signing-in")
        with ui.element("main").classes("sign-in"), _form("/login"):
            with ui.element("h1"):
                ui.label("Fleet console")
            if failed:
                with ui.element("p").props("role=alert").classes("sign-in-failed"):
                    ui.label("This name and password belong to nobody.")
            ui.input("Account").props("name=name autocomplete=username autofocus outlined dense")
            ui.input("Password", password=True).props("name=password autocomplete=current-password outlined dense")
            ui.button("Sign in").props("type=submit unelevated no-caps")
        return None

    @app.post("/login")
    def sign_in(request: Request, name: Annotated[str, Form()] = "", password: Annotated[str, Form()] = "") -> Response:
        login = sign_ins.sign_in(name, password)
        if login is None:
            return RedirectResponse("/login?failed=true", _SEE_OTHER)
        # A new id as well: a session that somebody else may have prepared is worth nothing.
        request.session.clear()
        request.session.update({"id": str(uuid.uuid4()), LOGIN: login})
        return RedirectResponse("/devices", _SEE_OTHER)

    @app.post("/logout")
    def sign_out(request: Request) -> Response:
        sign_ins.sign_out(str(request.session.get(LOGIN, "")))
        request.session.clear()
        request.session["id"] = str(uuid.uuid4())
        return RedirectResponse("/login", _SEE_OTHER)


@contextmanager
def _form(action: str) -> Iterator[None]:
    with ui.element("form").props(f"method=post action={action}"):
        yield
