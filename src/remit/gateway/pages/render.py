"""Rendering: templates with everything escaped, and headers under which no page can be framed or scripted."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from remit._base.text import shown
from remit._model.request_view import ConfirmationView


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One leaf of an input: where it stands, its exact JSON with refused characters as escapes, and its source."""

    path: str
    value: str
    bound: bool


class Renderer:
    """Makes responses of templates."""

    def __init__(self) -> None:
        self._templates = Environment(
            loader=PackageLoader("remit.gateway", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(shown=shown, iso=datetime.isoformat, clock=_clock)
        # Not escaped: it is our own file, and its hash is what the policy below allows.
        source = self._templates.loader.get_source(self._templates, "style.css")[0] if self._templates.loader else ""
        self._style = self._templates.from_string("{% autoescape false %}" + source + "{% endautoescape %}").render()
        self._headers = _headers(self._style)

    def page(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        """Render a template."""
        markup = self._templates.get_template(template).render(values, style=_Markup(self._style))
        return HTMLResponse(markup, status_code=status, headers=self._headers)

    def message(self, status: int, heading: str, text: str) -> HTMLResponse:
        """A page that says one thing."""
        return self.page("message.html", status, heading=heading, text=text)


class _Markup(str):
    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def rows_of(view: ConfirmationView) -> tuple[Row, ...]:
    """The exact input as one row a leaf: required fields first, nothing joined, nothing cut (SPEC 7.2)."""
    first = [name for name in view.required if name in view.input]
    names = [*first, *(name for name in view.input if name not in first)]
    return tuple(
        Row(path=shown(path), value=exact(leaf), bound=name in view.bound)
        for name in names
        for path, leaf in _leaves(name, view.input[name])
    )


def exact(value: object) -> str:
    """JSON text of a value, readable in every script, with refused characters as escapes."""
    return shown(json.dumps(value, ensure_ascii=False))


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner)
    elif isinstance(value, Mapping):
        yield path, {}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield path, []
    else:
        yield path, value


def _clock(at: datetime) -> str:
    return at.strftime("%H:%M:%S UTC")


def _headers(style: str) -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; "
            "frame-ancestors 'none'; base-uri 'none'"
        ),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        # Stricter would make browsers send `Origin: null` with our own form.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
