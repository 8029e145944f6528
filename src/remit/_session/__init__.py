"""Sessions of the host: open views, delegation tokens, and decisions that need no live surface."""
