"""`python -m shop`: serves the order desk until Ctrl-C, and says how to sign in and how to run the agent."""

from __future__ import annotations

import argparse

import uvicorn

from shop.app import create


def main() -> None:
    """Serve it."""
    parser = argparse.ArgumentParser(prog="python -m shop", description="Serve the order desk.")
    parser.add_argument("--port", type=int, default=8080, help="where to serve it (default: %(default)s)")
    port = parser.parse_args().port
    app, handles = create()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
    listener = config.bind_socket()
    listener.listen()  # what is printed below can be used at once
    base = f"http://127.0.0.1:{port}"
    print(f"open      {base}/orders")
    for person in handles.people:
        print(f"sign in   {person.name}  {person.password}     {person.region} desk")
    token = handles.gateway.delegate(
        handles.person("mara").principal(), actor="assistant", scope=["view:**", "domain:**"], kind="page"
    )
    print(f"agent     python -m shop.agent {base}/remit/page     with REMIT_TOKEN={token}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
