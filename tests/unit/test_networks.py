"""Which addresses may be reached, however they are written."""

import pytest

from opsapp.lib.networks import (
    AddressPolicy,
    PublicPolicy,
    client_address,
    counted_address,
    is_protected,
    is_trusted,
    network_problem,
)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "169.254.170.2",
    ],
)
def test_cloud_metadata_is_refused_by_default(address):
    assert not AddressPolicy().allows(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.1.1", "2001:db8::1", "fe80::1%eth0"])
def test_everything_else_is_allowed_by_default(address):
    assert AddressPolicy().allows(address)


def test_an_allow_list_refuses_what_it_does_not_name():
    policy = AddressPolicy(allow=["10.0.0.0/8"], deny=["10.9.0.0/16"])
    assert policy.allows("10.1.2.3")
    assert policy.allows("::ffff:10.1.2.3")
    assert not policy.allows("10.9.0.1")
    assert not policy.allows("192.168.0.1")
    assert not policy.allows("2001:db8::1")


@pytest.mark.parametrize("address", ["0.0.0.0", "::ffff:0.0.0.0", "::"])
def test_the_unspecified_address_is_this_machine(address):
    """Linux takes a connection to it for one to the loopback address."""
    local = ["127.0.0.0/8", "::1/128"]
    assert not AddressPolicy(deny=local).allows(address)
    assert AddressPolicy(allow=local).allows(address)
    assert not AddressPolicy(allow=["10.0.0.0/8"]).allows(address)
    assert not AddressPolicy(deny=["0.0.0.0/32", "::/128"]).allows(address)
    assert AddressPolicy().allows(address)


HIDING_10_0_0_1 = (
    "::ffff:10.0.0.1",
    "::ffff:a00:1%eth0",
    "::10.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::10.0.0.1",
    "64:ff9b:1:a00:0:100::",
    "64:ff9b:1:2:a:0:100::",
    "2002:a00:1::1",
    "2001:0:a00:1:8000:63bf:aaaa:aaaa",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2606:4700::5efe:a00:1",
    "2606:4700::200:5efe:a00:1",
)


@pytest.mark.attack
@pytest.mark.parametrize("address", HIDING_10_0_0_1)
def test_no_spelling_leads_into_a_denied_network(address):
    assert not AddressPolicy(deny=["10.0.0.0/8"]).allows(address)
    assert not PublicPolicy((), ()).allows(address)
    assert AddressPolicy(deny=["10.1.0.0/16"]).allows(address)


@pytest.mark.attack
@pytest.mark.parametrize(
    "address",
    [
        "0",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "127.0.0.1\u3002",
        "１２７.0.0.1",
        "①.0.0.1",
    ],
)
def test_what_others_may_read_as_an_address_is_none(address):
    """A name is judged by the addresses that it leads to."""
    assert not AddressPolicy((), ()).allows(address)


@pytest.mark.parametrize(
    "address", ["fec0::1", "64:ff9b:1::808:808", "5f00::1", "3fff::1", "192.88.99.1", "ff0e::1", "::1"]
)
def test_what_is_not_for_the_world_is_not_public(address):
    assert not PublicPolicy((), ()).allows(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"])
def test_what_is_public_is_reached(address):
    assert PublicPolicy((), ()).allows(address)


def test_a_denied_ipv6_network_is_denied_whatever_is_hidden_in_it():
    assert not AddressPolicy(deny=["2002::/16"]).allows("2002:808:808::1")
    assert not AddressPolicy(deny=["64:ff9b::/96"]).allows("64:ff9b::808:808")


def test_what_is_no_address_is_refused():
    assert not AddressPolicy().allows("example.org")
    assert not AddressPolicy().allows("")


def test_a_wrong_network_is_an_error_at_once():
    with pytest.raises(ValueError):
        AddressPolicy(deny=["10.0.0.0/33"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("203.0.113.9", "1.2.3.4", "203.0.113.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("not an address", "198.51.100.7", "not an address"),
    ],
)
def test_the_client_is_the_last_untrusted_hop(peer, forwarded, client):
    assert client_address(peer, forwarded, ["10.0.0.0/8"]) == client


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_what_attempts_are_counted_by(address, counted):
    assert counted_address(address) == counted


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://id.example.org", True),
        ("http://id.example.org", False),
        ("http://10.0.0.1:8080/x", False),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]/", True),
        ("http://localhost:5556/dex", True),
        ("http://localhost.example.org", False),
        ("http://", False),
    ],
)
def test_what_nobody_on_the_way_can_change(url, said):
    assert is_protected(url) is said


def test_a_proxy_is_trusted_by_its_address():
    assert is_trusted("10.1.2.3", ["10.0.0.0/8"])
    assert not is_trusted("192.0.2.1", ["10.0.0.0/8"])
    assert not is_trusted("unix:", ["10.0.0.0/8"])


@pytest.mark.parametrize("text", ["10.0.0.0/8", "10.1.2.3/8", "192.0.2.1", "2001:db8::/32"])
def test_what_is_a_network(text):
    assert network_problem(text) is None


@pytest.mark.parametrize("text", ["", "10.0.0.0/33", "example.org", "10.0.0"])
def test_what_is_no_network_is_told_what_one_looks_like(text):
    assert network_problem(text) == "must be an address or a network like 10.0.0.0/8"
