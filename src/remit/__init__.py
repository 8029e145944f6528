"""Give agents a remit, not your DOM: typed, governed and observable access to a live application."""

from remit._base.clock import ManualClock
from remit._base.limits import Limits
from remit._base.text import q
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.request import Approved, Denied
from remit._contract.authority import Authority
from remit._contract.component import Component
from remit._contract.concurrency import key, parallel
from remit._contract.decorators import action, observation
from remit._contract.flow import flow
from remit._contract.reference import reference
from remit._journal.audit import AuditEntry, AuditSink, AuditType
from remit._model.answers import Handoff, RecordSet, Refused, Unavailable
from remit._model.consumer import Consumer, Decider, Principal
from remit._model.context import Context, ReadContext
from remit._model.effects import Effect, Kind
from remit._model.event import Event, EventType
from remit._model.finding import FindingKind, SurfaceFinding
from remit._model.handoff_view import HandoffState, HandoffStatus, HandoffView
from remit._model.listing import Snapshot
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.payload import Payload, PayloadPart, PayloadReader
from remit._model.preflight import Preflight, Question
from remit._model.progress import Progress
from remit._model.request import Invocation
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit._model.retry import Retry
from remit._model.standing import StandingApproval, StandingOffer
from remit._model.steps import StepRefused, Steps, StepsDone
from remit._model.trace import Trace
from remit._model.untrusted_read import UntrustedRead
from remit._policy.guard import Accept, Candidate, Reject, Restrict
from remit._surface.connection import Connection
from remit._surface.from_thread import SurfaceFromThread
from remit._surface.mount import Mount
from remit._surface.surface import Surface
from remit.errors import AgentError, DefinitionError, ErrorCode, Happened, RetryAdvice
from remit.procedures import BackendError, Procedures

__all__ = [
    "Accept",
    "AgentError",
    "Approved",
    "AuditEntry",
    "AuditSink",
    "AuditType",
    "Authority",
    "BackendError",
    "CancelCause",
    "Candidate",
    "Component",
    "ConfirmationKeys",
    "ConfirmationStatus",
    "ConfirmationView",
    "Connection",
    "Consumer",
    "Context",
    "Decider",
    "DefinitionError",
    "Denied",
    "Effect",
    "ErrorCode",
    "Event",
    "EventType",
    "Failed",
    "FindingKind",
    "Handoff",
    "HandoffState",
    "HandoffStatus",
    "HandoffView",
    "Happened",
    "Invocation",
    "Kind",
    "Limits",
    "ManualClock",
    "Mount",
    "Ok",
    "Outcome",
    "Payload",
    "PayloadPart",
    "PayloadReader",
    "Preflight",
    "Principal",
    "Procedures",
    "Progress",
    "Question",
    "ReadContext",
    "RecordSet",
    "Refused",
    "Reject",
    "Restrict",
    "Retry",
    "RetryAdvice",
    "Snapshot",
    "StandingApproval",
    "StandingOffer",
    "StepRefused",
    "Steps",
    "StepsDone",
    "Surface",
    "SurfaceFinding",
    "SurfaceFromThread",
    "Trace",
    "Unavailable",
    "UntrustedRead",
    "action",
    "flow",
    "key",
    "observation",
    "parallel",
    "q",
    "reference",
]
