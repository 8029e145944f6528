"""Tests of what agents may do, without a model, a browser or a network: every call takes the way an agent's takes.

The fixture for pytest stands in `remit.testing.pytest_plugin`; nothing here needs pytest (SPEC 16.1).
"""

from remit._base.clock import ManualClock
from remit.testing.harness import Harness
from remit.testing.matchers import assert_available, assert_failed, assert_hidden, assert_ok, assert_unavailable
from remit.testing.overrides import Override, Overrides
from remit.testing.semantic import semantic
from remit.testing.token import Token

__all__ = [
    "Harness",
    "ManualClock",
    "Override",
    "Overrides",
    "Token",
    "assert_available",
    "assert_failed",
    "assert_hidden",
    "assert_ok",
    "assert_unavailable",
    "semantic",
]
