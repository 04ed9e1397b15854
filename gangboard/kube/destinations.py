"""Which addresses gangboard connects to, where a person gave the address of a cluster on a page.

A name is looked up for each connection, so the address itself is checked then: a name may lead to another one
by now than when the cluster was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gangboard.network_addresses import Network, embedded, is_within, read_address

SETTING = "GANGBOARD_CLUSTER_NETWORKS"


@dataclass(frozen=True, slots=True)
class Destinations:
    """The networks of a setting."""

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
