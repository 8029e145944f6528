"""`remit dev`: one contract for development, the program that is handed it, and what is told of changes (SPEC 13.7)."""
