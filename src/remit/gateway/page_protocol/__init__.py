"""The page protocol: describe, invoke, propose, events and handoff, as JSON over HTTP and one WebSocket (SPEC 11)."""
