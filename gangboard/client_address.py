"""The client address of a request behind proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SITE_BITS = 64
"""Prefix length of an IPv6 customer network, the smallest part in which addresses are chosen freely."""


def client_address(meta: Mapping[str, Any]) -> str:
    """Return the client address from a request's META; empty if unknown.

    Clients can forge X-Forwarded-For, so it is read from the right, as long as the writer of an entry is one
    of `GANGBOARD_TRUSTED_PROXIES`. An invalid entry stops the search, and the proxy that passed it on counts
    as the client.
    """
    address = _parse(str(meta.get("REMOTE_ADDR", "")))
    hops = str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")
    while address is not None and hops and _is_trusted(address):
        hop = _parse(hops.pop())
        if hop is None:
            break
        address = hop
    return "" if address is None else str(address)


def is_proxy(meta: Mapping[str, Any]) -> bool:
    """Return whether the connected peer may set X-Forwarded-Proto.

    The peers are `GANGBOARD_TRUSTED_PROXIES`. If none is named, every peer on this machine may.
    """
    peer = _parse(str(meta.get("REMOTE_ADDR", "")))
    if peer is None:
        return False
    return _is_trusted(peer) if settings.TRUSTED_PROXIES else peer.is_loopback


def is_trusted_proxy(meta: Mapping[str, Any]) -> bool:
    """Return whether the connected peer is one of `GANGBOARD_TRUSTED_PROXIES`."""
    peer = _parse(str(meta.get("REMOTE_ADDR", "")))
    return peer is not None and _is_trusted(peer)


def is_in(networks: Iterable[IPv4Network | IPv6Network], meta: Mapping[str, Any]) -> bool:
    """Return whether the client address of a request's META is in one of these networks."""
    address = _parse(client_address(meta))
    return address is not None and any(address in network for network in networks)


def network_of(address: str) -> str:
    """Return the network that counts as one sender: an IPv4 address, or the /64 of an IPv6 address."""
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, SITE_BITS), strict=False))
    return address


def _is_trusted(address: Address) -> bool:
    return any(address in network for network in settings.TRUSTED_PROXIES)


def _parse(text: str) -> Address | None:
    """Parse `203.0.113.7` or `2001:db8::1`, also with a port, as some proxies write them."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
