"""The seed of a run: given, or drawn anew; in CI always the same one."""

import os
import random

import pytest

CI_SEED = 1
STEPS, LONG_STEPS = 2_000, 20_000


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """`--seed`, or one for this run."""
    given = pytestconfig.getoption("--seed")
    if isinstance(given, int):
        return given
    return CI_SEED if os.environ.get("CI") else random.SystemRandom().randrange(1_000_000)


@pytest.fixture(scope="session")
def steps(pytestconfig: pytest.Config) -> int:
    """How many random steps: few, or with `--long` many."""
    return LONG_STEPS if pytestconfig.getoption("--long") else STEPS
