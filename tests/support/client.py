"""A client of the API on the standard library: one request, one connection, JSON both ways."""

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

from opsapp.runtime.store.commits import HELD_UP

from .waiting import patience


class Answer(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Refused(AssertionError):
    """The answer's status is not the expected one; carries the answer."""

    def __init__(self, what, answer):
        super().__init__(f"{what}: {answer.status} {answer.body[:500]!r}")
        self.answer = answer


class Client:
    def __init__(self, url, token=None, headers=None, timeout=None):
        """`timeout`: seconds, whatever else the machine does; else it is patient."""
        self.url = url.rstrip("/")
        self.token = token
        self.headers = dict(headers or {})
        self.timeout = timeout

    def login(self, username, password):
        answer = self.post("/api/login", {"username": username, "password": password})
        self.token = answer["token"]
        return self

    def request(self, method, path, body=None, headers=None):
        """The whole answer, whatever its status."""
        parts = urllib.parse.urlsplit(self.url)
        sent = {"Connection": "close", **self.headers, **(headers or {})}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, bytes | Iterator):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        timeout = self.timeout or 60 * patience()
        link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        try:
            link.request(method, path, body, sent)
            response = link.getresponse()
            return Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        finally:
            link.close()

    def call(self, method, path, body=None, expect=(200, 201), **more):
        """The answer's JSON; Refused unless its status is an expected one. On a machine that does other work too, a
        commit to a shared store may wait too long for another node's: it is asked for again, as the answer says."""
        expected = expect if isinstance(expect, tuple) else (expect,)
        while True:
            answer = self.request(method, path, body, **more)
            if answer.status in expected:
                return answer.json
            if answer.status != 503 or HELD_UP.encode() not in answer.body:
                raise Refused(f"{method} {path}", answer)

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.call("PUT", path, body, **more)

    def delete(self, path, **more):
        return self.call("DELETE", path, **more)
