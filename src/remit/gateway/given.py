"""What a gateway may be given, and who a request comes from."""

from typing import Final

from starlette.requests import HTTPConnection

from remit._contract.authority import Authority
from remit._model.consumer import ConsumerKind
from remit._policy.policy import Policy, methods_of
from remit._session.delegation import Delegations, Keys
from remit._session.identity import Identity, secrets_of
from remit._surface.given import check_required, wrong

BEARER: Final = "bearer "


def identified(
    connection: HTTPConnection, delegations: Delegations, kind: ConsumerKind = ConsumerKind.MCP
) -> Identity | None:
    """Who a request comes from, by the one bearer token in its header; None without one that is good now, here."""
    headers = connection.headers.getlist("authorization")
    if len(headers) != 1 or not headers[0].lower().startswith(BEARER):
        return None
    token = headers[0][len(BEARER) :].strip()
    delegation = delegations.verify(token, kind=kind)
    if delegation is None:
        return None
    return Identity(
        principal=delegation.principal,
        consumer=delegation.consumer,
        session=delegation.session,
        expires_at=delegation.expires_at,
        secrets=secrets_of(connection, token),
    )


def check_policies(authority: Authority, policies: tuple[Policy, ...]) -> None:
    """Refuse when the process starts what every surface would refuse: what is no policy, and one that is missing."""
    for policy in policies:
        methods_of(policy)
    check_required(authority, policies)


def check_keys(keys: object) -> None:
    if keys is not None and not isinstance(keys, Keys):
        do = 'write keys=Keys("k1", {"k1": …}), or leave keys= out: then tokens live as long as the process'
        raise TypeError(f"Gateway(keys=…) takes Keys, not {type(keys).__name__}\n  do  {do}")


def check_trust(given: object) -> None:
    if not isinstance(given, bool):
        do = "leave it out unless whoever calls the doors is trusted to name the trace"
        raise wrong("trust_traceparent", "True or False", given, do, "Gateway")
