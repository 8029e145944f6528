"""The fleet's backend: an HTTP service with its own database, accounts, rules and log of effects.

It knows nothing of agents. The console reaches it as any client does: over HTTP, with the credential of the person who
is signed in. `python -m backend` is the service itself, `backend.server` starts it,
`backend.document` writes its OpenAPI document, and `backend.client` is its client library.
"""
