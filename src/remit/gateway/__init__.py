"""The gateway: one object a process that holds sessions, serves agents, and asks people."""

from remit._session.delegation import Keys
from remit.gateway.app import Gateway
from remit.gateway.guard import LOOPBACK

__all__ = ["LOOPBACK", "Gateway", "Keys"]
