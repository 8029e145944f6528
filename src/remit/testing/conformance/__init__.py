"""Conformance with the page protocol: the runner of `spec/page-protocol`, and remit under control (SPEC 11)."""
