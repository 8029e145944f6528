"""Typed, governed and observable access to a live application for agents."""

__all__: list[str] = []
