"""Policies: what a policy may answer, what it is told, and how several answers become one (SPEC 5.2 to 5.4)."""
