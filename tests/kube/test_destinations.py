"""Permitted addresses of a connection whose address a person entered on a page."""

from __future__ import annotations

import socket
from ipaddress import ip_network

import pytest

from gangboard.kube import transport
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError
from gangboard.network_addresses import Destinations

TOKEN = "sesame"


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("93.184.215.14", True),
        ("10.1.2.3", True),
        ("192.168.0.1", True),
        ("fd00::1", True),
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("0.0.0.0", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("localhost", False),
    ],
)
def test_all_addresses_but_loopback_and_link_local_are_allowed_by_default(
    address: str, allowed: bool
) -> None:
    assert Destinations().allows(address) is allowed


def test_configured_networks_are_the_only_allowed_ones() -> None:
    destinations = Destinations((ip_network("10.0.0.0/8"), ip_network("127.0.0.0/8")))
    assert destinations.allows("10.1.2.3")
    assert destinations.allows("127.0.0.1")
    assert destinations.allows("::ffff:10.1.2.3")
    assert not destinations.allows("192.168.0.1")
    assert not destinations.allows("93.184.215.14")


def refusal_of(origin: str | None, destinations: Destinations, server: str) -> KubeError:
    credentials = Credentials(server, token=TOKEN, origin=origin)
    with (
        Connection(credentials, destinations=destinations) as connection,
        pytest.raises(KubeError) as caught,
    ):
        connection.get("/version")
    return caught.value


def test_a_forbidden_address_from_a_page_is_refused_before_any_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        address = f"https://127.0.0.1:{server.getsockname()[1]}"
        error = refusal_of("page", Destinations(), address)
        with pytest.raises(TimeoutError):
            server.accept()
    assert error.code == "forbidden-address"
    assert error.permanent
    assert "whose address is 127.0.0.1: GANGBOARD_CLUSTER_NETWORKS must allow it." in error.sentence


def test_a_command_may_use_any_address() -> None:
    assert refusal_of(None, Destinations(), "https://127.0.0.1:1").code == "unreachable"
    everywhere = Destinations((ip_network("127.0.0.0/8"),))
    assert refusal_of("page", everywhere, "https://127.0.0.1:1").code == "unreachable"


def test_a_name_is_checked_on_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that led elsewhere when the cluster was tried leads to this machine now."""
    answers = [[(socket.AF_INET, ("127.0.0.1", 1))], [(socket.AF_INET, ("169.254.169.254", 1))]]
    monkeypatch.setattr(transport, "resolve", lambda *_: answers.pop(0))
    only = Destinations((ip_network("127.0.0.0/8"),))
    assert refusal_of("page", only, "https://api.example.com").code == "unreachable"
    error = refusal_of("page", only, "https://api.example.com")
    assert error.code == "forbidden-address"
    assert "api.example.com, whose address is 169.254.169.254" in error.sentence


def test_allowed_addresses_are_chosen_among_several(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, ("169.254.169.254", 1)), (socket.AF_INET, ("127.0.0.1", 1))]
    monkeypatch.setattr(transport, "resolve", lambda *_: both)
    only = Destinations((ip_network("127.0.0.0/8"),))
    assert refusal_of("page", only, "https://api.example.com").code == "unreachable"
