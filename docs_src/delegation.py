"""The example of docs/guides/mcp.md and docs/concepts/delegation.md; runs as it is."""

from remit import Principal
from remit.compiler import compile_app
from remit.gateway import Gateway, Keys


def issue(gateway: Gateway) -> str:
    token = gateway.delegate(Principal("operator"), actor="claude", scope=["view:devices.**", "domain:devices.disable"])
    return token


def hand_on(gateway: Gateway, token: str) -> str:
    return gateway.attenuate(token, actor="helper", scope=["view:devices.table.*"], ttl=120)


def cut_off(gateway: Gateway, token: str) -> bool:
    return gateway.revoke(token, by="admin", why="the laptop is lost")


def replace(keys: Keys, kid: str, secret: bytes) -> None:
    keys.rotate(kid, secret)


if __name__ == "__main__":
    keys = Keys("k1", {"k1": bytes(32)})
    gateway = Gateway(compile_app(__file__), keys=keys)
    token = issue(gateway)
    replace(keys, "k2", bytes(range(32)))
    narrowed = hand_on(gateway, token)
    assert token.count(".") == narrowed.count(".") == 2
    assert cut_off(gateway, token)
    assert not cut_off(gateway, token)
