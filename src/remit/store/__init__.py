"""What outlives a call: the protocol every store fits, and the store in memory (SPEC 15.1)."""
