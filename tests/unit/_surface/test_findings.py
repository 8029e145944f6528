"""What is kept of slow code is bounded, and its name tells where it is."""

from functools import partial

from remit._base.clock import ManualClock
from remit._journal.audit import AuditLog
from remit._surface.findings import FUNCTIONS, Slow, named


class Job:
    """Something that can be called and is no function."""

    def __call__(self) -> None: ...


def test_no_more_than_a_thousand_functions_are_kept_and_each_by_its_longest_time() -> None:
    slow = Slow(AuditLog("srf_x", ManualClock(), capacity=10))

    def work() -> None: ...

    functions = [partial(work) for _ in range(FUNCTIONS + 5)]
    for number, function in enumerate(functions):
        function.__qualname__ = f"work{number}"  # type: ignore[attr-defined]
        slow.took(function, 0.06)
    slow.took(functions[-1], 0.2)
    found = [each.found for each in slow.findings()]
    assert len(found) == FUNCTIONS and found[-1].endswith(f"work{FUNCTIONS - 1}")
    assert not any("200 ms" in each for each in found)


def test_a_function_is_named_with_file_and_line_and_without_folders() -> None:
    assert named(named).startswith("named (findings.py:") and "/" not in named(named)
    assert named(Job()) == "Job"
    assert named(partial(partial(named))).startswith("named (findings.py:")
