"""Server-rendered pages as a home for components: `attach` once, `open_view` in a page, `mount` in its view."""

from remit._session.mounted import Mounted
from remit.integrations.asgi.attach import Agents, attach
from remit.integrations.asgi.view import View

__all__ = ["Agents", "Mounted", "View", "attach"]
