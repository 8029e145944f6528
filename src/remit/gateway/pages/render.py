"""Rendering: templates with everything escaped, and headers under which no page can be framed or scripted."""

import base64
import hashlib
from datetime import datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from remit._base.text import shown


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
