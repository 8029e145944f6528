"""What happened: events for listeners, audit entries for operators (SPEC 9)."""
