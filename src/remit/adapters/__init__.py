"""Towards agents: each door is an island over `SurfacePort`."""
