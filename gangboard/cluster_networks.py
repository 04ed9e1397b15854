"""The networks of clusters that people add on a page."""

from __future__ import annotations

from django.conf import settings

from gangboard.network_addresses import Destinations


def cluster_destinations() -> Destinations:
    """Return the networks of `GANGBOARD_CLUSTER_NETWORKS`."""
    return Destinations(settings.CLUSTER_NETWORKS)
