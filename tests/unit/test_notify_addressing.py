"""Types of channels: from fields to the address that Apprise reads."""

import apprise
import pytest

from opsapp.notify.logic.addresses import BY_NAME, address_of, type_of, wrong_fields

MAIL = {"host": "mail.example.org", "from": "ops@example.org", "to": "a@x.org, b@y.org"}
SLACK = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
GIVEN = {
    "mail": MAIL | {"user": "ann@example.org", "password": "p@ss/w&x=1"},
    "webhook": {"address": "https://ops.example.org:8443/hook/x?a=1", "authorization": "Bearer abc"},
    "slack": {"address": SLACK},
    "discord": {"address": "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"},
    "telegram": {"token": "123456789:alphanumeric_token-1", "chat": "12315544"},
    "ntfy": {"topic": "ops", "token": "tk_abc"},
    "gotify": {"server": "http://push.example.org/sub/", "token": "AbCdEfGhIjKlMnO"},
    "pushover": {"user": "u" * 30, "token": "a" * 30},
    "matrix": {"server": "https://m.example.org", "user": "u", "password": "p@/", "room": "#ops:example.org"},
    "apprise": {"url": "json://localhost/x"},
}


def plugin(name, given):
    assert wrong_fields(name, given) == {}
    return apprise.Apprise.instantiate(address_of(name, given))


@pytest.mark.parametrize("name", BY_NAME)
def test_apprise_reads_the_address_of_every_type(name):
    assert plugin(name, GIVEN[name]) is not None
    scheme = address_of(name, GIVEN[name]).partition(":")[0]
    assert type_of(scheme) == (name if name != "apprise" else "webhook")


def test_mail_reaches_the_server_with_all_that_was_given():
    mail = plugin("mail", GIVEN["mail"])
    assert (mail.user, mail.password, mail.smtp_host, mail.port) == (
        "ann@example.org", "p@ss/w&x=1", "mail.example.org", 587)  # fmt: skip
    assert [address for _, address in mail.targets] == ["a@x.org", "b@y.org"]
    assert plugin("mail", MAIL | {"security": "tls"}).port == 465
    plain = plugin("mail", MAIL | {"security": "none", "port": "2525"})
    assert (plain.port, plain.secure) == (2525, False)


def test_a_webhook_keeps_its_query_and_its_header():
    hook = plugin("webhook", GIVEN["webhook"])
    assert (hook.host, hook.port, hook.fullpath) == ("ops.example.org", 8443, "/hook/x")
    assert (hook.params, hook.headers) == ({"a": "1"}, {"Authorization": "Bearer abc"})
    assert address_of("webhook", {"address": "http://h/x"}) == "json://h/x"


def test_what_is_filled_in_wrongly_is_named():
    assert wrong_fields("mail", {"port": "70000", "security": "much", "x": ""}).keys() == {
        "host", "from", "to", "port", "security", "x"}  # fmt: skip
    for address in ("hooks.example.org", "ftp://x", "https://", "http://[::1"):
        assert wrong_fields("webhook", {"address": address}).keys() == {"address"}


@pytest.mark.parametrize(
    ("service", "name"),
    [("mailtos", "mail"), ("json", "webhook"), ("jsons", "webhook"), ("matrixs", "matrix"), ("pagerduty", "apprise")],
)
def test_the_type_of_a_service(service, name):
    assert type_of(service) == name
