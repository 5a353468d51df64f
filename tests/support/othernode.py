"""Asking a node of what another one has written: it hears of it in a moment, and a busy machine makes that longer."""

from .waiting import until


def knows(client, path):
    """The answer of a node, once it has what is at that path."""
    answer = until(lambda: _well(client.request("GET", path)), 20, what=f"{client.url} knowing of {path}")
    return answer.json


def _well(answer):
    return answer if answer.status == 200 else None


def signed_in_at(node, other, **more):
    """The first admin's session of the other node, at this one: a session is good on every node."""
    client = node.client(token=other.admin.token, **more)
    knows(client, "/api/me")
    return client
