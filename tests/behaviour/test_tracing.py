"""A call carries the span it was made in: to its code, to the backend and into the journal (SPEC 6.14)."""

from typing import Any, cast

import pytest

from remit import Component, Consumer, Context, Invocation, Procedures, Surface, Trace, action, reference
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output

SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
seen: list[Trace | None] = []
backend = Procedures()


@backend.operation("rows.count", effect="server-query")
async def count(call: Context) -> int:
    """Count."""
    seen.append(call.trace)
    return 1


class Table(Component, type="table"):
    """A table."""

    count = reference("domain:rows.count")

    @action(confirmation="required")
    def delete(self, call: Context) -> None:
        """Delete."""
        seen.append(call.trace)


def surface_of() -> Surface:
    seen.clear()
    surface = Surface(authority_of(Table, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    return surface


@pytest.mark.requirement("6.14-a-trace-is-carried")
@pytest.mark.parametrize("linked", [False, True])
async def test_a_handler_a_backend_function_and_the_journal_are_told_the_span(linked: bool) -> None:
    surface, trace = surface_of(), Trace(SPAN, linked)
    agent = surface.connect(AGENT)
    output(await agent.call(Table.count, trace=trace))
    asked = failed(await agent.call(Table.delete, trace=trace), "CONFIRMATION_REQUIRED")
    await surface.confirmations.approve(str(asked.details["confirmation_id"]), OPERATOR)
    output(await agent.call(Table.delete, trace=trace))
    assert seen == [trace, trace]
    told = [(entry.traceparent, entry.linked) for entry in surface.audit(types=["invocation"])]
    assert told == [(SPAN, linked)] * 3


@pytest.mark.requirement("6.14-a-trace-is-carried")
async def test_a_call_without_one_has_none_anywhere() -> None:
    surface = surface_of()
    output(await surface.connect(AGENT).call(Table.count))
    assert seen == [None]
    (entry,) = surface.audit(types=["invocation"])
    assert (entry.traceparent, entry.linked) == (None, False)


@pytest.mark.requirement("6.14-a-trace-is-carried")
async def test_what_is_no_trace_is_refused_and_reaches_no_code() -> None:
    surface = surface_of()
    for wrong in (SPAN, 7, {"traceparent": SPAN}):
        request = Invocation("domain:rows.count", trace=cast(Any, wrong))
        error = failed(await surface.invoke(request, Consumer("agent", kind="test")), "INVALID_INPUT")
        assert error.details["issues"] == [{"path": "", "message": "`trace` must be a Trace"}]
    assert seen == [] and {entry.traceparent for entry in surface.audit()} == {None}


@pytest.mark.requirement("6.14-a-malformed-traceparent-fails-nothing")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        (SPAN, SPAN),
        (f"01{SPAN[2:]}", SPAN),
        (f"cc{SPAN[2:]}-more-of-later", SPAN),
        (f"{SPAN}-more", None),
        (f"ff{SPAN[2:]}", None),
        (SPAN.upper(), None),
        (f" {SPAN}", None),
        (f"{SPAN}\n", None),
        ("00-" + "0" * 32 + SPAN[35:], None),
        (SPAN[:36] + "0" * 16 + "-01", None),
        (f"cc{SPAN[2:]}-" + "x" * 500, None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_what_is_well_formed_is_read_and_nothing_else(text: object, read: str | None) -> None:
    for linked in (False, True):
        assert Trace.read(text, linked=linked) == (None if read is None else Trace(read, linked))


@pytest.mark.requirement("6.14-a-malformed-traceparent-fails-nothing")
@pytest.mark.parametrize("text", ["", "00-1-2-3", f"01{SPAN[2:]}"])
def test_a_host_that_makes_a_malformed_one_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="traceparent is 00-"):
        Trace(text)
