import pytest

from remit._base.clock import ManualClock
from remit._journal.audit import (
    CAUSE_CHARACTERS,
    PAYLOAD_BYTES,
    PAYLOADS_BYTES,
    AuditEntry,
    AuditLog,
    AuditType,
    AuditVote,
    Durations,
)
from remit._model.effects import Audit
from remit._policy.chain import Vote
from remit.errors import ErrorCode, Happened

CALL = AuditType.INVOCATION


class Kept:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


class Broken:
    def __init__(self) -> None:
        self.asked = 0

    def write(self, entry: AuditEntry) -> None:
        self.asked += 1
        raise OSError("disk full")


def log_of(capacity: int = 1000) -> AuditLog:
    return AuditLog("srf_1", ManualClock(), capacity=capacity)


def failure() -> ValueError:
    try:
        raise ValueError("the cause")
    except ValueError as raised:
        return raised


def test_an_entry_says_who_what_when_why_and_how_long() -> None:
    log = log_of()
    log.append(
        CALL,
        registration="reg_1",
        capability="view:a.b",
        invocation="inv_1",
        correlation_id="c",
        consumer=("mcp", None, ("bot",), None),
        principal=("acme", "ada"),
        decider="lead",
        confirmation="cnf_1",
        code=ErrorCode.CAPABILITY_NOT_FOUND,
        why="hidden by require-grant:admin",
        votes=(Vote("require-grant:admin", "discover", "hide"),),
        durations=Durations(policy=0.001, execution=0.25),
        outcome=Happened.NONE,
        contract_hash="sha256:1",
    )
    (entry,) = log.entries()
    assert entry == AuditEntry(
        sequence=1,
        time="2026-01-01T12:00:00+00:00",
        type=CALL,
        surface="srf_1",
        registration="reg_1",
        capability="view:a.b",
        invocation="inv_1",
        correlation_id="c",
        consumer=("mcp", None, ("bot",), None),
        principal="ada",
        tenant="acme",
        decider="lead",
        confirmation="cnf_1",
        code=ErrorCode.CAPABILITY_NOT_FOUND,
        why="hidden by require-grant:admin",
        votes=(AuditVote(policy="require-grant:admin", method="discover", decision="hide"),),
        policy_ms=1.0,
        execution_ms=250.0,
        outcome=Happened.NONE,
        contract_hash="sha256:1",
    )


def test_the_latest_thousand_are_kept_and_the_numbers_go_on() -> None:
    log = log_of(capacity=3)
    for _ in range(5):
        log.append(CALL)
    assert [entry.sequence for entry in log.entries()] == [3, 4, 5]
    assert len(log) == 3


def test_at_the_level_none_a_success_leaves_nothing_but_a_refusal_does() -> None:
    log = log_of()
    log.append(CALL, level=Audit.NONE, votes=(Vote("p", "discover", "expose"),), input=b"{}")
    assert log.entries() == ()
    log.append(CALL, level=Audit.NONE, code=ErrorCode.TIMEOUT, input=b'{"a":1}')
    log.append(CALL, level=Audit.NONE, cause=failure())
    log.append(CALL, level=Audit.NONE, votes=(Vote("p", "discover", "hide", None, failure()),))
    assert [entry.payload for entry in log.entries()] == [False, False, False]


def test_payloads_are_kept_at_full_only() -> None:
    log = log_of()
    for level in (Audit.METADATA, Audit.FULL):
        log.append(CALL, level=level, input=b'{"ids":["a"]}', output=b"[1]")
    metadata, full = log.entries()
    assert (metadata.payload, metadata.input, metadata.output) == (False, None, None)
    assert (full.payload, full.input, full.output) == (True, {"ids": ["a"]}, [1])


def test_payloads_are_capped_one_by_one_and_together() -> None:
    log = log_of()
    fits = b'"' + b"x" * (PAYLOAD_BYTES - 2) + b'"'
    log.append(CALL, level=Audit.FULL, input=fits + b" ", output=b"1")
    assert (log.entries()[0].input, log.entries()[0].output) == (None, 1)
    together = PAYLOADS_BYTES // PAYLOAD_BYTES
    for _ in range(together + 5):
        log.append(CALL, level=Audit.FULL, input=fits)
    kept = [entry.payload for entry in log.entries()]
    assert kept == [False] * 6 + [True] * together


def test_payloads_of_forgotten_entries_are_forgotten() -> None:
    log = log_of(capacity=2)
    for _ in range(5):
        log.append(CALL, level=Audit.FULL, input=b"1")
    assert len(log._payloads) == 2


def test_causes_are_kept_as_text_with_their_stack_and_no_frame_is_held() -> None:
    log = log_of()
    log.append(
        CALL, code=ErrorCode.EXECUTION_FAILED, cause=failure(), votes=(Vote("p", "review", "deny", None, failure()),)
    )
    log.fault("a listener raised", failure(), capability="view:a.b")
    first, second = log.entries()
    assert first.cause is not None and "in failure" in first.cause and "ValueError: the cause" in first.cause
    assert first.votes[0].cause is not None and "in failure" in first.votes[0].cause
    assert (second.type, second.why, second.capability) == (AuditType.FAULT, "a listener raised", "view:a.b")
    assert not any(isinstance(value, BaseException) for raw in log._entries for value in raw)


def test_a_cause_is_bounded_and_keeps_its_end() -> None:
    log = log_of()
    log.fault("x", ValueError("a" * 20_000 + "end"))
    cause = log.entries()[0].cause
    assert cause is not None and len(cause) == CAUSE_CHARACTERS and cause.endswith("end\n")


def test_an_exception_whose_text_raises_is_journalled_by_its_name() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    log = log_of()
    log.fault("x", Odd())
    assert "Odd" in (log.entries()[0].cause or "")


def test_an_exception_that_cannot_be_formatted_is_journalled_by_its_name() -> None:
    class Odd(SyntaxError):
        @property
        def lineno(self) -> int:  # type: ignore[override]
            raise RuntimeError

    log = log_of()
    log.fault("x", Odd())
    assert log.entries()[0].cause == "Odd (its text cannot be shown)"


def test_sinks_get_every_later_entry_and_a_failing_one_silences_nobody() -> None:
    log = log_of()
    kept, broken = Kept(), Broken()
    log.append(CALL)
    log.sink(broken)
    end = log.sink(kept)
    log.append(CALL)
    assert [entry.sequence for entry in kept.entries] == [2]
    assert broken.asked == 1
    assert [entry.why for entry in log.entries()] == [None, None, "an audit sink raised"]
    end()
    log.append(CALL)
    assert [entry.sequence for entry in kept.entries] == [2]


def test_a_sink_without_a_write_method_is_refused_at_once() -> None:
    with pytest.raises(AttributeError):
        log_of().sink(object())  # type: ignore[arg-type]
