"""Plain values that every room may speak."""
