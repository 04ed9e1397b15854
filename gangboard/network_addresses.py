"""IP addresses, and the networks to which gangboard may connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
_NAT64 = ip_network("64:ff9b::/96")
CLUSTER_NETWORKS = "GANGBOARD_CLUSTER_NETWORKS"


class ForbiddenAddressError(OSError):
    """A connection was refused because of its address."""


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, also with a zone (`fe80::1%eth0`); None for any other text."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address embeds, else the address itself."""
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
    """Return whether an address, or its embedded IPv4 address, is in one of the networks."""
    return any(
        known.version == network.version and known in network
        for known in {address, embedded(address)}
        for network in networks
    )


@dataclass(frozen=True, slots=True)
class Destinations:
    """Allowed destinations for clusters whose address a person entered on a page.

    A name is resolved for each connection, so the address is checked then. It may have changed since the
    trial of the cluster.
    """

    networks: Sequence[Network] = ()
    """If empty, all addresses are allowed except loopback, link-local, multicast and unspecified ones."""

    def allows(self, text: str) -> bool:
        """Return whether gangboard may connect to an IP address."""
        address = read_address(text)
        if address is None:
            return False
        if self.networks:
            return is_within(address, self.networks)
        target = embedded(address)
        return not (
            target.is_loopback
            or target.is_link_local
            or target.is_multicast
            or target.is_unspecified
        )
