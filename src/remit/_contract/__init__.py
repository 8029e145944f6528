"""Declarations, the reviewable contract, and its verified runtime form."""
