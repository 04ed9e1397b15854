"""The tables. Trivial properties only: no network, no rules, no signals."""

from gangboard.store.models.clusters import Cluster, Heartbeat, Lease, ResourceState
from gangboard.store.models.gangs import Gang
from gangboard.store.models.objects import WatchedObject
from gangboard.store.models.people import AccessToken, Grant, SignInAttempts, SignInLink

__all__ = [
    "AccessToken",
    "Cluster",
    "Gang",
    "Grant",
    "Heartbeat",
    "Lease",
    "ResourceState",
    "SignInAttempts",
    "SignInLink",
    "WatchedObject",
]
