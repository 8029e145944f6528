"""The MCP door: streamable HTTP, the 2026-07-28 protocol and the handshake era before it (SPEC 12.5)."""

from remit._session.identity import Identity
from remit.adapters.mcp.door import McpDoor

__all__ = ["Identity", "McpDoor"]
