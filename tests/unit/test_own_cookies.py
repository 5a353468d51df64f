"""Of the cookies that a browser sends, the service reads its own."""

import pytest

from opsapp.auth.cookies import SESSION
from opsapp.auth.engine.browsers import cookie_name
from opsapp.auth.views.oidc import flow_cookie
from opsapp.ui.pages import ZONE
from opsapp.ui.views.signin import FORM, PARTIAL
from opsapp.web.setup import OURS, OpsRequest


@pytest.mark.parametrize(
    ("sent", "known"),
    [
        ("opsapp_session=t; other=1", {"opsapp_session": "t"}),
        ("other=1;opsapp_form=f;  opsapp_zone=Europe/Berlin", {"opsapp_form": "f", "opsapp_zone": "Europe/Berlin"}),
        ("a=opsapp_session; xopsapp_session=t", {}),
        ("a=b; " * 6000 + "opsapp_session=t", {"opsapp_session": "t"}),
        ("", {}),
    ],
)
def test_only_our_cookies_are_read(sent, known):
    assert dict(OpsRequest.blank("/", {"HTTP_COOKIE": sent}).cookies) == known


@pytest.mark.parametrize("name", [SESSION, FORM, PARTIAL, ZONE, cookie_name("ada"), flow_cookie("0123456789abcdef")])
def test_each_of_our_cookies_is_known_as_ours(name):
    assert name.startswith(OURS)


def test_a_request_without_cookies_has_none():
    assert dict(OpsRequest.blank("/").cookies) == {}
