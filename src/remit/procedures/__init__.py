"""What a backend offers: catalogues of operations, and functions the application already owns (SPEC 10)."""
