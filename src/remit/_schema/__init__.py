"""Schemas: the subset agents see, deriving it from type hints, judging values by it, comparing two of them."""
