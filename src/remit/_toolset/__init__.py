"""Capabilities as tools of a model: wire names, definitions, pins and calls, over a `SurfacePort` only."""
