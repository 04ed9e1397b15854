"""The client address of a request, according to trusted proxies."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from django.conf import settings

from gangboard import env
from gangboard.client_address import client_address, is_in, network_of

PROXIES = tuple(ip_network(text) for text in ("10.0.0.0/8", "fd00::/8", "192.0.2.1"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        # An untrusted client may send any header.
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.1.2.3", "198.51.100.1", "198.51.100.1"),
        # The right-most untrusted hop counts, because that hop wrote the entries to its left.
        ("10.1.2.3", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.1.2.3", "1.1.1.1,198.51.100.1, 10.9.9.9 ,192.0.2.1", "198.51.100.1"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("10.1.2.3", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        # No address: the proxy that passed it on is all that is known.
        ("10.1.2.3", "unknown", "10.1.2.3"),
        ("10.1.2.3", "198.51.100.1, nonsense", "10.1.2.3"),
        ("10.1.2.3", "198.51.100.1,", "10.1.2.3"),
        # With a port, and IPv6 in the forms in which proxies write it.
        ("10.1.2.3", "198.51.100.1:4711", "198.51.100.1"),
        ("fd00::1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("fd00::1", "2001:DB8:0::7", "2001:db8::7"),
        ("::ffff:10.1.2.3", "::ffff:198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_the_client_is_the_last_untrusted_hop(
    monkeypatch: pytest.MonkeyPatch, peer: str, forwarded: str, client: str
) -> None:
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", PROXIES)
    meta = {"REMOTE_ADDR": peer, **({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {})}
    assert client_address(meta) == client


def test_forwarded_headers_are_ignored_by_default() -> None:
    assert settings.TRUSTED_PROXIES == ()
    meta = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}
    assert client_address(meta) == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("2001:db8:0:1::7", "2001:db8:0:1::/64"),
        ("2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"),
        ("2001:db8:0:2::7", "2001:db8:0:2::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_64_prefix_is_one_sender(address: str, network: str) -> None:
    assert network_of(address) == network


def test_the_setting_lists_networks_or_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "GANGBOARD_TRUSTED_PROXIES"
    monkeypatch.setattr(env, "_read", {})
    monkeypatch.setenv(name, "10.0.0.0/8, 192.0.2.1,fd00::/8")
    results = [str(network) for network in env.read_networks(name, "meaning")]
    assert results == ["10.0.0.0/8", "192.0.2.1/32", "fd00::/8"]
    monkeypatch.setenv(name, "proxy.example")
    with pytest.raises(env.SettingError, match=r"GANGBOARD_TRUSTED_PROXIES is 'proxy\.example'"):
        env.read_networks(name, "meaning")


@pytest.mark.parametrize(
    ("peer", "forwarded", "inside"),
    [
        ("198.51.100.1", "", True),
        ("::ffff:198.51.100.1", "", True),
        ("2001:db8::7", "", True),
        ("203.0.113.7", "198.51.100.1", False),
        ("10.1.2.3", "198.51.100.1", True),
        ("10.1.2.3", "198.51.100.1, 203.0.113.7", False),
        ("", "", False),
    ],
)
def test_a_client_is_matched_against_networks(
    monkeypatch: pytest.MonkeyPatch, peer: str, forwarded: str, inside: bool
) -> None:
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", PROXIES)
    networks = [ip_network("198.51.100.0/24"), ip_network("2001:db8::/32")]
    meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}
    assert is_in(networks, meta) is inside
