"""An assistant as tests play it: a key of its own, and messages at the door."""

import json

from opsapp.auth.resources import keys
from tests.support.documented import DocumentedApp

REASON = "It failed twice today."


def make_key(root, username, now, name="claude", *, assistant=True, role="viewer"):
    """The token of a new key of a user that there is."""
    return keys.make_key(root, username, name, role, None, now, assistant=assistant)[1]


class Door:
    """/api/mcp of a `Service` in this process."""

    def __init__(self, service, username="otto", name="claude", **key):
        self.service = service
        service.client(username)
        self.token = service.transact(lambda root: make_key(root, username, service.clock.now(), name, **key))
        self.client = DocumentedApp(service.app)
        self.client.authorization = ("Bearer", self.token)
        self.calls = 0

    def post(self, message, status=200, **headers):
        body = message if isinstance(message, bytes | str) else json.dumps(message)
        sent = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.client.post("/api/mcp", body, headers=sent, status=status)

    def ask(self, method, **params):
        """The whole answer to a call."""
        self.calls += 1
        return self.post({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}).json

    def result(self, method, **params):
        answer = self.ask(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    def tool(self, name, **arguments):
        """(what it says, whether that is an error)."""
        result = self.result("tools/call", name=name, arguments=arguments)
        [content] = result["content"]
        return json.loads(content["text"]), result["isError"]

    def data(self, name, **arguments):
        told, is_error = self.tool(name, **arguments)
        assert not is_error, told
        return told["data"]

    def refused(self, name, **arguments):
        told, is_error = self.tool(name, **arguments)
        assert is_error, told
        return told
