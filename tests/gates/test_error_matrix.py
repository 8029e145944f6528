"""The matrix of errors is one: in the data, in the source, and on the page of errors."""

import ast
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args, get_origin

from remit import ErrorCode, errors
from remit._base import codes
from tests.error_matrix import MATRIX, PHASES, Row, error_faults, page_rows

CONSTRUCTORS = {"ambiguous_instance": ("ambiguous_view",)}
"""Further constructors of a code, beside the one that is called like it."""


def test_the_source_rules_as_the_data_says() -> None:
    ruled = {
        code.value: (ruling.messages, tuple(each.value for each in ruling.retries), ruling.stored)
        for code, ruling in codes.MATRIX.items()
    }
    assert ruled == {code: (row.sentences, row.retry, row.stored) for code, row in MATRIX.items()}
    assert list(ruled) == [code.value for code in ErrorCode] == list(MATRIX)
    assert all(len(sentence) <= 300 for row in MATRIX.values() for sentence in row.sentences)


def test_every_code_has_a_constructor_whose_closed_words_are_those_of_the_data() -> None:
    hints = {
        "phase": codes.UnmountedPhase,
        "origin": codes.Origin,
        "STALE_CAPABILITY": codes.StaleReason,
        "CONFIRMATION_INVALID": codes.InvalidReason,
        "RATE_LIMITED": codes.LimitedReason,
        "EXECUTION_FAILED": codes.FailedReason,
    }
    for row in MATRIX.values():
        constructor = getattr(errors, row.code.lower())
        for name, parameter in inspect.signature(constructor).parameters.items():
            if get_origin(parameter.annotation) is Literal:
                assert get_args(parameter.annotation) == row.values(name), row.code
        for key in ("phase", "origin", "reason"):
            closed = row.values(key) if key in row.details else ()
            hint = hints.get(key, hints.get(row.code))
            if len(closed) > 1:
                assert get_args(hint) == closed, f"{row.code}.{key}"
    assert [each.value for each in codes.Happened] == list(MATRIX["CANCELLED"].values("outcome"))


def calls(module: Path) -> set[str]:
    """The names that a file calls."""
    tree = ast.parse(module.read_bytes())
    return {ast.unparse(node.func).split(".")[-1] for node in ast.walk(tree) if isinstance(node, ast.Call)}


def premature(package: Path, matrix: dict[str, Row]) -> list[str]:
    """Codes that are marked as later although something makes them."""
    used = {name for file in package.rglob("*.py") if file.name != "errors.py" for name in calls(file)}
    return sorted(row.code for row in matrix.values() if row.later.get("code") and row.code.lower() in used)


def test_a_code_is_marked_as_later_only_while_nothing_gives_it(package: Path) -> None:
    assert premature(package, MATRIX) == []


def test_a_mark_that_came_true_is_seen(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("raise Refusal(errors.handoff_required())\n", encoding="utf-8")
    later = {"HANDOFF_REQUIRED": replace(MATRIX["HANDOFF_REQUIRED"], later={"code": "one day"})}
    assert premature(tmp_path, later) == ["HANDOFF_REQUIRED"]


def test_what_breaks_the_matrix_is_seen() -> None:
    assert error_faults(errors.stale_capability("surface-reloaded")) == []
    assert error_faults(errors.precondition_failed("why", {"an": "author's"})) == []
    odd = errors.AgentError(
        code=ErrorCode.RATE_LIMITED,
        message="No.",
        retry=errors.RetryAdvice.NO,
        details={"reason": "probing", "who": "me", "correlation_id": "err_1"},
    )
    assert error_faults(odd) == [
        "RATE_LIMITED advises no",
        "RATE_LIMITED says 'No.'",
        "RATE_LIMITED has the detail who",
    ]
    row = MATRIX["EXECUTION_FAILED"]
    premature_value = errors.AgentError(
        code=ErrorCode.EXECUTION_FAILED,
        message=row.sentences[0],
        retry=errors.RetryAdvice(row.retry[0]),
        details={"reason": "audit-unavailable"},
    )
    assert error_faults(premature_value) == [
        "EXECUTION_FAILED has reason='audit-unavailable', though it is marked as later"
    ]
    unknown = errors.AgentError(
        code=ErrorCode.CANCELLED,
        message="The call was cancelled.",
        retry=errors.RetryAdvice.NO,
        details={"outcome": "lost"},
    )
    assert error_faults(unknown) == ["CANCELLED has outcome='lost'"]


def test_what_is_beyond_the_normative_table_or_later_names_what_is_there() -> None:
    for row in MATRIX.values():
        assert set(row.beyond) <= set(row.details), row.code
        for key, what in row.later.items():
            assert key == "code" or set(what) <= set(row.values(key)), row.code


def test_every_step_of_the_data_is_one_that_a_phase_takes() -> None:
    taken = {0}.union(*PHASES.values())  # 0 is outside of a call
    assert all(row.steps <= taken for row in MATRIX.values())


def test_the_page_of_errors_shows_the_data(root: Path) -> None:
    page = (root / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    wanted = "\n".join(page_rows())
    assert wanted in page, f"write into docs/reference/errors.md:\n{wanted}"
