"""The kinds of answer under a server without a hub (waitress, WebTest), and how they are handed to one."""

import json

import pytest
from pyramid.response import Response
from webob import Request

from opsapp.web import answers
from opsapp.web.asked import Asked, request_id


class Letters:
    """A source of a few pieces that remembers what was done to it."""

    def __init__(self, head=None, problem=None):
        self.head, self.problem, self.done = head, problem, []

    def open(self):
        self.done.append("open")
        if self.problem:
            raise self.problem
        return self.head

    def __iter__(self):
        yield b"ab"
        yield b"cd"

    def close(self):
        self.done.append("close")


def ask(answer, method="GET", **environ):
    request = Request.blank("/api/thing", method=method, environ=environ)
    return request.get_response(answer)


def by_name(asked, outcome):
    """A finish hook that shows what reached it."""
    if isinstance(outcome, BaseException):
        return Response(json.dumps({"error": str(outcome), "code": type(outcome).__name__}), status=409)
    return answers.finish_plainly(asked, outcome)


def test_a_stream_opens_iterates_and_closes():
    source = Letters()
    got = ask(answers.Stream(source, "text/plain", {"X-Extra": "1"}))
    assert (got.status_code, got.body, got.headers["X-Extra"]) == (200, b"abcd", "1")
    assert source.done == ["open", "close"]


def test_a_stream_closes_its_source_when_the_server_closes_the_iterable():
    source = Letters()
    environ = Request.blank("/").environ
    pieces = answers.Stream(source)(environ, lambda status, headers: None)
    pieces.close()
    assert source.done == ["open", "close"]


def test_what_a_source_learns_at_its_opening_is_in_the_head():
    source = Letters(answers.Head("206 Partial Content", {"Content-Length": "4", "Content-Range": "bytes 0-3/9"}))
    got = ask(answers.Stream(source))
    assert (got.status_code, got.content_length, got.headers["Content-Range"]) == (206, 4, "bytes 0-3/9")


def test_a_source_that_refuses_is_a_status_of_the_error_table():
    source = Letters(problem=LookupError("no such file"))
    got = ask(answers.Stream(source, headers={"X-Mark": "kept"}), **{answers.FINISH: by_name})
    assert (got.status_code, got.json_body) == (409, {"error": "no such file", "code": "LookupError"})
    assert got.headers["X-Mark"] == "kept"
    assert source.done == ["open"]


def test_head_opens_for_the_status_and_sends_nothing():
    source = Letters()
    assert ask(answers.Stream(source), method="HEAD").body == b""
    assert source.done == ["open", "close"]


def test_a_deferred_answers_with_status_headers_and_value():
    got = ask(answers.Deferred(lambda: (201, {"Location": "/x"}, {"id": "x"})))
    assert (got.status_code, got.json_body) == (201, {"id": "x"})
    assert got.headers["Location"].endswith("/x")


def test_a_deferred_may_return_a_response_and_its_own_cookies_are_kept():
    answer = answers.Deferred(lambda: Response("moved", status=303, headers={"Location": "/y"}))
    answer.set_cookie("seen", "1")
    got = ask(answer)
    assert got.status_code == 303
    assert "seen=1" in got.headers["Set-Cookie"]


def test_a_deferred_that_raises_reaches_the_error_table():
    def fails():
        raise KeyError("box-1")

    got = ask(answers.Deferred(fails), **{answers.FINISH: by_name})
    assert (got.status_code, got.json_body["code"]) == (409, "KeyError")


def test_without_a_hook_a_failure_tells_nothing(caplog):
    def fails():
        raise RuntimeError("/secret/path")

    got = ask(answers.Deferred(fails))
    assert got.status_code == 500
    assert got.json_body == {"error": "The server failed to answer.", "code": "internal"}
    assert "/secret/path" in caplog.text


def test_a_hook_that_fails_still_answers(caplog):
    def broken(asked, outcome):
        raise ValueError("hook")

    assert ask(answers.Deferred(lambda: (200, {}, {})), **{answers.FINISH: broken}).status_code == 500
    assert "hook" in caplog.text


def test_an_upgrade_is_not_possible_without_a_hub():
    got = ask(answers.Upgrade(lambda socket: None))
    assert (got.status_code, got.json_body["code"]) == (501, "not_implemented")


@pytest.mark.parametrize("make", [lambda: answers.Stream(Letters()), lambda: answers.Deferred(lambda: (200, {}, {}))])
def test_on_the_hub_the_answer_is_handed_over_and_not_carried_out(make):
    answer, handover, started = make(), answers.Handover(), []
    environ = Request.blank("/api/thing", environ={answers.HUB: handover, "opsapp.username": "ada"}).environ
    assert list(answer(environ, lambda status, headers: started.append(status))) == []
    assert handover.answer is answer
    assert started == ["200 OK"]
    assert answer.asked == Asked(request_id(environ), "GET", "/api/thing", "", "", "ada")
    assert answer.asked.is_api
