"""One configured origin over HTTP, as every catalogue with a backend elsewhere uses it (SPEC 10.4)."""
