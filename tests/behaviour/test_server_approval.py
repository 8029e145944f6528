"""A backend's own demand for approval (SPEC 7.11)."""

from typing import Any

import pytest

from remit import BackendError, Component, Happened, Procedures, Surface, reference
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output


class Backend:
    """Wants an approval of its own until it is given there."""

    def __init__(self, approval: Any, effect: Any = "server-mutation") -> None:
        self.approval = approval
        self.asked = 0
        self.procedures = Procedures()

        @self.procedures.operation("save", effect=effect)
        async def save() -> int:
            """Save the form."""
            self.asked += 1
            if self.approval is not None:
                raise BackendError(403, "secret-4711", approval=self.approval)
            return self.asked

        class Form(Component, type="form"):
            """A form."""

            save = reference("domain:save")

        self.surface = Surface(
            authority_of(Form, procedures=self.procedures), principal="operator", procedures=self.procedures
        )
        self.surface.confirmations.subscribe(lambda view: None)
        self.surface.mount(Form())


@pytest.mark.requirement("7.11-a-backends-demand")
async def test_a_backends_demand_is_told_as_the_servers_and_makes_no_request_here() -> None:
    backend = Backend({"id": "PA-17", "where": "the console"})
    agent = backend.surface.connect(AGENT)
    error = failed(await agent.call("domain:save", id="one"), "CONFIRMATION_REQUIRED")
    assert error.retry == "after-approval"
    assert error.details == {
        "server_approval": {"id": "PA-17", "where": "the console"},
        "summary": "Save the form.",
        "effect": "server-mutation",
        "origin": "server",
    }
    assert backend.surface.confirmations.pending() == ()
    entry = backend.surface.audit()[-1]
    assert entry.outcome is Happened.NONE
    assert entry.why == "backend answered 403, wanting an approval of its own"
    backend.approval = None
    assert output(await agent.call("domain:save", id="one")) == 2


@pytest.mark.requirement("7.11-a-backends-demand")
async def test_a_local_approval_is_no_answer_to_the_backend() -> None:
    backend = Backend({}, effect="destructive")
    agent = backend.surface.connect(AGENT)
    request = str(failed(await agent.call("domain:save"), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await backend.surface.confirmations.approve(request, OPERATOR)
    error = failed(await agent.call("domain:save", confirmation=request), "CONFIRMATION_REQUIRED")
    assert (error.details["origin"], error.details["server_approval"]) == ("server", {})
    spent = failed(await agent.call("domain:save", confirmation=request, id="later"), "CONFIRMATION_INVALID")
    assert (spent.details["reason"], backend.asked) == ("spent", 1)


@pytest.mark.requirement("7.11-a-backends-demand")
@pytest.mark.parametrize("wrong", [{"x": object()}, {"x": "y" * 3_000}, {"x": float("nan")}])
async def test_a_demand_that_is_no_small_json_is_told_without_its_data(wrong: Any) -> None:
    backend = Backend(wrong)
    error = failed(await backend.surface.connect(AGENT).call("domain:save"), "CONFIRMATION_REQUIRED")
    assert error.details["server_approval"] == {}
    assert "cannot be told" in (backend.surface.audit()[-1].why or "")


@pytest.mark.requirement("7.11-a-backends-demand")
@pytest.mark.parametrize(
    ("status", "approval", "says"),
    [(403, "PA-17", "approval= is a mapping, not str"), (500, {}, "approval= stands with a status from 400 to 499")],
)
def test_a_demand_that_cannot_be_meant_is_refused_where_it_is_raised(status: int, approval: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        raise BackendError(status, approval=approval)
