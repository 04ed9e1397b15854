"""From where a request comes: the address of the browser, not that of the proxies in front of us."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SITE_BITS = 64
"""What one customer has of IPv6: the smallest part in which addresses are chosen freely."""


def client_address(meta: Mapping[str, Any]) -> str:
    """Return the address of who asks, from a request's META; empty where nobody can tell.

    X-Forwarded-For is what the sender likes to write, so it is read from the right, as long as whoever
    has written an entry is one of `GANGBOARD_TRUSTED_PROXIES`. An entry that is no address ends that:
    then it is the proxy that passed it on.
    """
    found = _read(str(meta.get("REMOTE_ADDR", "")))
    hops = str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")
    while found is not None and hops and _is_trusted(found):
        before = _read(hops.pop())
        if before is None:
            break
        found = before
    return "" if found is None else str(found)


def is_proxy(meta: Mapping[str, Any]) -> bool:
    """Return whether who is connected may say how the browser asked (X-Forwarded-Proto).

    These are `GANGBOARD_TRUSTED_PROXIES`; where none is named, whoever is on this machine.
    """
    found = _read(str(meta.get("REMOTE_ADDR", "")))
    if found is None:
        return False
    return _is_trusted(found) if settings.TRUSTED_PROXIES else found.is_loopback


def is_trusted_proxy(meta: Mapping[str, Any]) -> bool:
    """Return whether the peer of the connection itself is one of `GANGBOARD_TRUSTED_PROXIES`."""
    found = _read(str(meta.get("REMOTE_ADDR", "")))
    return found is not None and _is_trusted(found)


def is_in(networks: Iterable[IPv4Network | IPv6Network], meta: Mapping[str, Any]) -> bool:
    """Return whether who asks, from a request's META, has an address in one of these networks."""
    found = _read(client_address(meta))
    return found is not None and any(found in network for network in networks)


def network_of(address: str) -> str:
    """Return what is counted as one sender: an IPv4 address, or the /64 of an IPv6 address."""
    found = _read(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, SITE_BITS), strict=False))
    return address


def _is_trusted(address: Address) -> bool:
    return any(address in network for network in settings.TRUSTED_PROXIES)


def _read(text: str) -> Address | None:
    """Read `203.0.113.7`, `2001:db8::1`, and both with a port, as some proxies write them."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
