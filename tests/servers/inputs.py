"""What a call is given, judged, and the question that it leads to."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import jsonschema_rs

from tests.servers.access import reaches
from tests.servers.messages import OPENED, Refused
from tests.servers.world import Agent, Entry, Site


def judged(site: Site, agent: Agent, entry: Entry, given: Mapping[str, Any]) -> dict[str, Any]:
    """The input with its record and its defaults; decimal text is taken where an integer is meant."""
    capability, input = entry.capability, dict(given)
    record = {}
    if capability.kind is not None:
        record = {"record": input.pop("record", None)}
        if not reaches(site, agent, record["record"]):
            raise Refused("RECORD_UNAVAILABLE")
    for name, schema in capability.fields.items():
        value = input.setdefault(name, schema["default"]) if "default" in schema else input.get(name)
        if schema["type"] == "integer" and isinstance(value, str) and value.isdecimal():
            input[name] = int(value)
    wrong = [each.message for each in jsonschema_rs.validator_for(capability.schema).iter_errors(input)]
    if wrong:
        raise Refused("INVALID_INPUT", issues=[{"path": "", "message": each} for each in wrong])
    return {**record, **input}


def needs_person(id: str, entry: Entry) -> Refused:
    """The refusal of what somebody has to approve."""
    return Refused(
        "CONFIRMATION_REQUIRED",
        confirmation_id=id,
        summary=entry.capability.id,
        expires_at=(OPENED + timedelta(minutes=2)).isoformat(),
        effect=entry.capability.effect,
        origin="client",
    )
