"""An existing oRPC backend as a catalogue, by its contract dump and its OpenAPI document (SPEC 10.7)."""

from remit.procedures.http.answer import Answer
from remit.procedures.http.circuit import CircuitState, CircuitStatus
from remit.procedures.http.credentials import Credentials
from remit.procedures.orpc.catalogue import ORPC
from remit.procedures.orpc.operation import Procedure

__all__ = ["ORPC", "Answer", "CircuitState", "CircuitStatus", "Credentials", "Procedure"]
