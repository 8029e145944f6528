"""The bridge to pages: handlers in a browser's page answer for components that are declared in Python (SPEC 14.2)."""
