"""Where gangboard connects to if a person gave the address of a cluster on a page: by a setting."""

from __future__ import annotations

from django.conf import settings

from gangboard.network_addresses import Destinations


def cluster_destinations() -> Destinations:
    """Return the networks of `GANGBOARD_CLUSTER_NETWORKS`."""
    return Destinations(settings.CLUSTER_NETWORKS)
