"""The messages of the protocol as `spec/page-protocol.json` has them, and refusals."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs

SPEC = Path(__file__).parents[2] / "spec" / "page-protocol.json"
SCHEMAS = json.loads(SPEC.read_text(encoding="utf-8"))["$defs"]
VERBS = ("describe", "invoke", "propose", "handoff")
REQUESTS = {verb: jsonschema_rs.validator_for({"$ref": f"#/$defs/{verb}.request", "$defs": SCHEMAS}) for verb in VERBS}
METHODS = {**dict.fromkeys(VERBS, "POST"), "events": "GET", "socket": "GET", "openapi.json": "GET"}
MOST = 1_048_576
RETRY = {
    "AMBIGUOUS_INSTANCE": "with-changes",
    "INVALID_INPUT": "with-changes",
    "INVOCATION_CONFLICT": "with-changes",
    "NOT_AUTHORIZED": "no",
    "NOT_AUTHENTICATED": "no",
    "CONFIRMATION_REQUIRED": "after-approval",
    "CONFIRMATION_INVALID": "with-confirmation",
    "HANDOFF_REQUIRED": "after-handoff",
    "RATE_LIMITED": "after-delay",
}
TOLD = ("capability", "status", "reason", "url", "expires_at", "data")
OPENED = datetime(2026, 1, 1, tzinfo=UTC)


class Refused(Exception):
    """What is not done, and why."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.steps: dict[str, int] | None = None
        self.error: dict[str, Any] = {
            "code": code,
            "message": f"It was refused: {code}.",
            "retry": RETRY.get(code, "after-refresh"),
            **({"details": details} if details else {}),
        }
