"""Homes for components: what joins a view of a framework to a gateway (SPEC 14)."""
