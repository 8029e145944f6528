"""Every error as its constructor makes it, held against the matrix; and the words for authors."""

import pytest

from remit import errors
from remit.errors import CompileError, Finding, Happened, RetryAdvice
from tests.error_matrix import error_faults


def test_a_backend_says_when_to_come_back_and_the_advice_is_to_wait() -> None:
    error = errors.execution_failed("transport", Happened.NONE, retry_after_ms=250)
    assert (error.retry, error.details["retry_after_ms"]) == (RetryAdvice.AFTER_DELAY, 250)
    assert error_faults(error) == []
    assert errors.execution_failed("transport", Happened.NONE).retry is RetryAdvice.NO


def test_a_view_that_is_not_chosen_or_not_there_has_its_own_answer() -> None:
    views = [{"viewId": "v_1"}, {"viewId": "v_2"}]
    choose = errors.ambiguous_view(views)
    assert choose.details == {"views": views}
    assert choose.message != errors.ambiguous_instance(["a", "b"]).message
    gone = errors.surface_unreachable("no view is open", views=[])
    assert gone.details == {"outcome": "none", "reason": "no view is open", "views": []}
    assert error_faults(choose) == error_faults(gone) == []


def test_a_handoff_has_its_reason_on_one_line() -> None:
    handoff = errors.handoff_required("hnd_1", reason="Log\nin", url="/log-in", expires_at="2026-01-01T00:00:00Z")
    assert handoff.details == {
        "handoff_id": "hnd_1",
        "reason": "Log in",
        "url": "/log-in",
        "expires_at": "2026-01-01T00:00:00Z",
    }
    assert errors.record_unavailable().details == {}


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (Finding(found="no app"), "no app"),
        (Finding(path="a.py", found="no app"), "a.py  no app"),
        (Finding(path="a.py", line=3, found="no app", write="app = 1"), "a.py:3  no app\n  write  app = 1"),
    ],
)
def test_a_finding_reads_with_what_is_known_of_its_place(finding: Finding, text: str) -> None:
    assert str(finding) == text


def test_the_compiler_says_every_finding() -> None:
    problem = CompileError([Finding(found="one"), Finding(path="b.py", found="two")])
    assert str(problem) == "one\nb.py  two"
    assert len(problem.findings) == 2
