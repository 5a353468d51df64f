"""What is taken as an address of the web, on the service and on agents."""

import pytest

from opsapp.wire.urls import is_plain_abroad, web_problem

GOOD = [
    "http://a.example",
    "https://a.example:8443/b?c=d#e",
    "http://10.0.0.1/",
    "http://[::1]:80/",
    "HTTP://A/",
    "http://münchen.example/ä",
    "http://user:password@a.example/",
    "http://a_b.example./",
]
BAD = [
    "", "a.example", "//a.example/", "ftp://a.example/", "file:///etc/passwd", "http://", "http:///a", "http://[::1",
    "http://[::1]:80x", "http://a:70000/", "http://a:-1/", "http://a:0/", "http://a:80:90/", "http://a b/", " http://a/",
    "http://a/\n", "http://a/\x7f", "http://a/\x85", "http://a/\u2028", "http://a\u200b.b/", "http://a/\u202e",
    "http://a..b/", "http://-a/", "http://a,b/", "http://a\\b/", "http://" + "a" * 300, "http://@/", "http://a:８０/",
]  # fmt: skip


@pytest.mark.parametrize("url", GOOD)
def test_what_can_be_called_is_taken(url):
    assert web_problem(url) is None


@pytest.mark.parametrize("url", BAD)
def test_what_cannot_be_called_is_refused(url):
    assert web_problem(url)


def test_credentials_may_be_unwelcome():
    assert web_problem("https://user:password@a.example/", credentials=False) == "must not hold credentials"


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://ops.example/", True), ("HTTP://10.0.0.1:6080", True), ("http://[fd00::1]/", True), ("http://", True),
        ("http://localhost.example/", True), ("https://ops.example/", False), ("http://localhost:6080", False),
        ("http://LOCALHOST./", False), ("http://127.8.0.1/", False), ("http://[::1]:80/", False),
    ],
)  # fmt: skip
def test_what_others_on_the_way_can_read(url, plain):
    assert is_plain_abroad(url) == plain
