"""An existing HTTP backend as a catalogue, by its OpenAPI document (SPEC 10)."""

from remit.procedures.catalogue import Offer
from remit.procedures.http.answer import Answer
from remit.procedures.http.circuit import CircuitState, CircuitStatus
from remit.procedures.http.credentials import Credentials
from remit.procedures.openapi.catalogue import OpenAPI
from remit.procedures.openapi.operation import Operation

__all__ = ["Answer", "CircuitState", "CircuitStatus", "Credentials", "Offer", "OpenAPI", "Operation"]
