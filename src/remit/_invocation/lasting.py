"""Calls that must not run twice, over the end of the process that began them (SPEC 6.4, 7.6, 15.1)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from remit._base.boundary import Json, canonical, loads
from remit._base.clock import Clock
from remit._base.digest import keyed_hex, same
from remit._base.limits import Limits
from remit._confirmation.keys import ConfirmationKeys
from remit._invocation.call import Call
from remit._invocation.ledger import keeps
from remit._model.consumer import ConsumerKey
from remit._model.outcome import Failed, Ok, Outcome, Untrusted, untrusted_to_json
from remit._model.steps import StepsDone
from remit._model.wire import error_from_json, error_to_json
from remit.errors import Happened, Refusal, cancelled, invocation_conflict
from remit.store.protocol import CallStore
from remit.store.rows import CallRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """What a durable store holds of the calls of one surface, and of those that ended processes left behind.

    A surface over a store in memory has none: nothing outlives it.
    """

    calls: CallStore
    keys: ConfirmationKeys
    clock: Clock
    limits: Limits
    surface_id: str
    principal: tuple[str | None, str]

    def may_know(self, call: Call) -> bool:
        """Whether an earlier process may have run this call."""
        return self.calls.any_lost and keeps(call)

    async def begin(self, call: Call) -> None:
        """Keep it; when this returns it is known after any end of the process."""
        now = self.clock.now()
        await self.calls.begin(
            CallRow(
                id=call.invocation_id,
                surface_id=self.surface_id,
                tenant=self.principal[0],
                principal=self.principal[1],
                consumer=_text(call.key),
                capability=call.live.plan.id,
                kid=self.keys.active,
                fingerprint=self._fingerprint(call, self.keys.active),
                started_at=now.isoformat(),
                until=(now + timedelta(seconds=self._kept_s(call))).isoformat(),
            )
        )

    def _kept_s(self, call: Call) -> float:
        """A step is known as long as its flow may wait for persons, at each of its steps."""
        flow, limits = None if call.step_of is None else call.step_of.bound.plan.flow, self.limits
        if flow is None:
            return limits.replay_s
        longest = max(
            [limits.decide_s + limits.spend_s, limits.handoff_s, *(step.spend_s or 0.0 for step in flow.steps)]
        )
        return limits.replay_s + len(flow.steps) * (longest + limits.replay_s)

    async def settled(self, call: Call, *, stored: bool) -> None:
        """Keep how it ended; what is not stored has not run, and may be tried again."""
        outcome = _form(call.outcome, self.limits, len(call.output_bytes)) if stored and call.outcome else None
        await self.calls.settle(self.surface_id, _text(call.key), call.invocation_id, outcome)

    async def earlier(self, call: Call) -> Outcome | None:
        """How the call of this id ended in an earlier process; CANCELLED{unknown} where nobody knows.

        None when there was none. Another call under its id is INVOCATION_CONFLICT.
        """
        row = await self.calls.lost(*self.principal, _text(call.key), call.invocation_id)
        if row is None or row.until <= self.clock.now().isoformat():
            return None
        if row.capability != call.live.plan.id or not same(row.fingerprint, self._fingerprint(call, row.kid)):
            raise Refusal(invocation_conflict(), why="an earlier process ran another call under this id")
        return _outcome(row, call)

    def _fingerprint(self, call: Call, kid: str) -> str:
        """Of what was asked for, without the surface and the registration, which are others after a restart."""
        secret = self.keys.secret(kid)
        if secret is None:
            return ""
        return keyed_hex(secret, canonical([call.live.plan.id, call.request.instance]) + call.input_bytes)


def _text(key: ConsumerKey) -> str:
    kind, issuer, actors, grant = key
    return canonical([kind, issuer, list(actors), grant]).decode()


def _form(outcome: Outcome, limits: Limits, size: int) -> str:
    if isinstance(outcome, Failed):
        form: dict[str, Any] = {"error": error_to_json(outcome.error)}
    else:
        output = outcome.output if size <= limits.replay_output_bytes else None
        form = {"output": output, "untrusted": untrusted_to_json(outcome.untrusted)}
    if outcome.steps is not None:
        form["steps"] = list(outcome.steps)
    return canonical(form).decode()


def _outcome(row: CallRow, call: Call) -> Outcome:
    form: Json = {} if row.outcome is None else loads(row.outcome.encode())
    assert isinstance(form, dict)
    version, id, capability = call.version_before, call.invocation_id, call.request.capability_id
    if "output" in form:
        mark = form["untrusted"]
        untrusted: Untrusted = (
            mark if isinstance(mark, bool) else tuple(map(str, mark)) if isinstance(mark, list) else True
        )
        return Ok(
            invocation_id=id,
            capability_id=capability,
            output=form["output"],
            surface_version=version,
            surface_changed=False,
            untrusted=untrusted,
            steps=_steps(form),
        )
    told = form.get("error")
    return Failed(
        invocation_id=id,
        capability_id=capability,
        error=error_from_json(told) if isinstance(told, dict) else cancelled(Happened.UNKNOWN),
        surface_version=version,
        surface_changed=False,
        steps=_steps(form),
    )


def _steps(form: dict[str, Json]) -> StepsDone | None:
    match form.get("steps"):
        case [int(done), int(of)]:
            return StepsDone(done, of)
        case _:
            return None
