"""The example of docs/guides/mcp.md; runs as it is."""

from remit import Principal
from remit.compiler import compile_app
from remit.gateway import Gateway


def issue(gateway: Gateway) -> str:
    token = gateway.delegate(Principal("operator"), actor="claude", scope=["view:devices.**", "domain:devices.disable"])
    return token


if __name__ == "__main__":
    assert issue(Gateway(compile_app(__file__))).count(".") == 2
