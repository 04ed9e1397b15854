"""A trial request to a cluster before it is watched: its version, its identity and the readable kinds."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gangboard.cluster_networks import cluster_destinations
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.discovery import Discovery, discover, path_for
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.polling.cluster_access import Access
from gangboard.polling.cluster_cache import resources

_OF_ONE_KIND = frozenset({KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND})
"""Errors of a list that concern one kind, not the whole cluster."""
CONNECT_DEADLINE = 3.0
ANSWER_DEADLINE = 10.0
"""Seconds for one request. A person waits for the result."""
TRIAL_SECONDS = 25.0
"""After these no other kind is tried."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The answer of a cluster."""

    server_version: str
    """Empty where the account may not ask."""
    uid: str
    """uid of its namespace `kube-system`; empty where the account may not get it."""
    readable: tuple[str, ...]
    """Keys of the kinds that are served and that the account may list."""
    unreadable: tuple[str, ...]
    """Keys of the other kinds that are served."""

    @property
    def sentence(self) -> str:
        """`answers, v1.37.2, may read 16 of 16 kinds`."""
        version = f", {self.server_version}" if self.server_version else ""
        readable = len(self.readable)
        served = readable + len(self.unreadable)
        missing = f"; not {', '.join(self.unreadable)}" if self.unreadable else ""
        return f"answers{version}, may read {readable} of {served} kinds{missing}"

    @property
    def identity_problem(self) -> str:
        """Why a second name for the cluster would not be noticed; empty where it would."""
        if self.uid:
            return ""
        return (
            "The uid of the namespace kube-system could not be read, so gangboard cannot tell whether this "
            "cluster has another name already."
        )


def try_cluster(access: Access) -> Trial:
    """Read discovery and one object of each kind from a cluster. Raises KubeError where it does not answer."""
    give_up_at = time.monotonic() + TRIAL_SECONDS
    credentials = Credentials.from_document(access.document)
    with Connection(
        credentials,
        connect_deadline=CONNECT_DEADLINE,
        total_deadline=ANSWER_DEADLINE,
        destinations=cluster_destinations(),
    ) as connection:
        found = discover(connection, groups={one.group for one in resources()})
        readable: list[str] = []
        unreadable: list[str] = []
        for key, path in _served(found):
            if time.monotonic() > give_up_at:
                raise KubeError(
                    KubeErrorCode.TIMEOUT,
                    f"{connection.host} did not answer for all kinds within {TRIAL_SECONDS:g} s.",
                )
            (readable if _may_list(connection, path) else unreadable).append(key)
    return Trial(found.server_version, found.cluster_uid, tuple(readable), tuple(unreadable))


def _served(found: Discovery) -> list[tuple[str, str]]:
    """Return key and path of the kinds that are served in a version that gangboard reads."""
    return [
        (one.key, path_for(one.group, version, one.plural))
        for one in resources()
        if (version := _version(found, one.group, one.plural, one.versions))
    ]


def _version(found: Discovery, group: str, plural: str, versions: tuple[str, ...]) -> str:
    served = {one.version for one in found.resources.get((group, plural), ())}
    return next((one for one in versions if one in served), "")


def _may_list(connection: Connection, path: str) -> bool:
    try:
        connection.get(path, {"limit": "1"})
    except KubeError as error:
        if error.code in _OF_ONE_KIND:
            return False
        raise
    return True
