"""Pages for the person's own session: plain HTML that works without a script."""
