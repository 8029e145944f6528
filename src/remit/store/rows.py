"""The plain rows that a store holds beside requests and revocations: JSON-able data, no live object (SPEC 15.1).

Times are ISO 8601 UTC. `consumer` is the key of a consumer as canonical JSON, `tenant` and `principal` name the person.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRow:
    """One approval for the session (SPEC 7.9); `ended` is a `StandingEnd` value, None while it stands.

    `pinned` is the canonical JSON of what may not vary, `free` names what may.
    """

    id: str
    surface_id: str
    registration: str
    capability: str
    tenant: str | None
    principal: str
    consumer: str
    confirmation: str
    decided_by: str
    pinned: str
    free: tuple[str, ...]
    given_at: str
    until: str
    uses_left: int
    ended: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRow:
    """One step that only a person may do (SPEC 11.7); `status` is a `HandoffStatus` value.

    `input` is the canonical JSON of what the call brought, without the values that are withheld; `data` the JSON of
    what the application told when it was done. `consumer_id` is the name that its person is shown.
    """

    id: str
    surface_id: str
    capability: str
    registration: str
    instance: str
    place: str
    tenant: str | None
    principal: str
    consumer: str
    consumer_id: str
    input: str
    withheld: tuple[str, ...]
    digest: str
    path: str
    invocation: str
    correlation_id: str | None
    contract_hash: str
    created_at: str
    expires_at: str
    status: str
    decided_by: str | None = None
    data: str = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One call that must not run twice: not idempotent, and named by a caller who may repeat it (SPEC 6.4, 7.6).

    It is there from just before anything runs. `outcome` is the JSON of how it settled; None as long as nobody knows.
    `fingerprint` is keyed with the secret `kid`, over capability, instance and raw input, so that the call is known
    again on another surface. After `until` it may be forgotten.
    """

    id: str
    surface_id: str
    tenant: str | None
    principal: str
    consumer: str
    capability: str
    kid: str
    fingerprint: str
    started_at: str
    until: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationRow:
    """One token that was given out, without the token (SPEC 11.11): its id, whose views, by whom, within what.

    `parents` are the ids it was narrowed from, the first one first; `kind` the door it is for.
    """

    id: str
    tenant: str | None
    principal: str
    actors: tuple[str, ...]
    kind: str
    scope: tuple[str, ...]
    session: str | None
    parents: tuple[str, ...]
    begins: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One open view of one person (SPEC 11.11): `id` is what tokens may name.

    `key` is a digest of the host's own name for it, None where the host gave none. It was seen last at `seen_at`, None
    while its client is there, and ends at `until` whatever happens.
    """

    id: str
    tenant: str | None
    principal: str
    key: str | None
    title: str
    opened_at: str
    seen_at: str | None
    until: str
