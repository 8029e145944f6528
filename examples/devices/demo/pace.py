"""How fast the scripted agent may be: it walks in seconds what an agent with a model walks in minutes."""

from __future__ import annotations

from typing import Final

from remit import Limits

HURRIED: Final = Limits(network_calls=600, network_writes=200)
"""The limits of a console that the script works; an application keeps the usual ones."""
