"""NiceGUI pages as a home for components: `attach` once, `mount` in a page."""

from remit.integrations.nicegui.attach import Agents, attach
from remit.integrations.nicegui.mounted import Mounted

__all__ = ["Agents", "Mounted", "attach"]
