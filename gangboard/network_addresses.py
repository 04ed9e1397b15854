"""IP addresses, and the networks that gangboard may connect to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
_NAT64 = ip_network("64:ff9b::/96")
CLUSTER_NETWORKS = "GANGBOARD_CLUSTER_NETWORKS"


class ForbiddenAddressError(OSError):
    """No connection was made because of the address."""


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, also one with a zone (`fe80::1%eth0`); None for any other text."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_within(address: IPv4Address | IPv6Address, networks: Sequence[Network]) -> bool:
    """Return whether an address, or the IPv4 address that it stands for, is in one of the networks."""
    return any(
        known.version == network.version and known in network
        for known in {address, embedded(address)}
        for network in networks
    )


@dataclass(frozen=True, slots=True)
class Destinations:
    """Addresses that gangboard connects to where a person gave the address of a cluster on a page.

    A name is looked up for each connection, so the address is checked then: since the trial of the cluster the name may
    have got another address.
    """

    networks: Sequence[Network] = ()
    """Empty: all addresses but those of this machine and of its link."""

    def allows(self, text: str) -> bool:
        """Return whether an IP address may be connected to."""
        address = read_address(text)
        if address is None:
            return False
        if self.networks:
            return is_within(address, self.networks)
        found = embedded(address)
        return not (
            found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
        )
