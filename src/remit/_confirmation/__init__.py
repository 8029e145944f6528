"""Confirmation: questions to a person about exact calls, and the single-use proof of the answer (SPEC 7)."""
