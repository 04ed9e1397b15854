"""Logs of containers for people who may read them. They are passed through, and never stored or logged.

It is the only module through which pages reach a cluster. `.importlinter` names it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import transaction

from gangboard.cluster_networks import cluster_destinations
from gangboard.domain.shell import rbac_command
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.pod_logs import LogEnd, LogRequest, read_log
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.models import AuditEntry, Cluster
from gangboard.store.secrets import SecretUnreadableError, unseal

__all__ = [
    "LogEnd",
    "LogError",
    "LogProblem",
    "LogReader",
    "LogRequest",
    "check_allowed",
    "record_reads",
]

MOST_READERS = 8
"""Pages and calls of one process that read logs at once, so that memory and threads stay bounded."""
QUEUE_SECONDS = 2.0
"""Seconds that a reader waits for its turn."""
CONNECT_SECONDS = 3.0
AUDIT_PAUSE = timedelta(minutes=10)
"""An open page reads the same pods every few seconds, which is recorded once in this time."""
READ_EVENT = "logs-read"

_turns = threading.BoundedSemaphore(MOST_READERS)


class LogProblem(StrEnum):
    """The reason why there is no log."""

    OFF = "off"
    """`GANGBOARD_LOGS` is off."""
    NOT_ALLOWED = "not-allowed"
    """The person lacks the role `logs`."""
    NO_LOG = "no-log"
    """The container has no log, for example because it has not started."""
    NO_POD = "no-pod"
    BUSY = "busy"
    """`MOST_READERS` pages or calls read logs now."""
    CLUSTER = "cluster"
    """The cluster does not answer or refuses."""


class LogError(Exception):
    """There is no log. The text is a sentence for the requester."""

    def __init__(self, problem: LogProblem, sentence: str, *, command: str = "") -> None:
        super().__init__(sentence)
        self.problem = problem
        self.command = command
        """The command with which an admin of the cluster permits it. Empty for other problems."""


def check_allowed(viewer: Viewer, cluster: Cluster, namespace: str) -> None:
    """Raise LogError if the person may not read logs of a namespace."""
    if not settings.LOGS:
        raise LogError(LogProblem.OFF, "This installation shows no logs: GANGBOARD_LOGS is off.")
    if not viewer.may_read_logs(cluster.pk, namespace):
        raise LogError(
            LogProblem.NOT_ALLOWED,
            f"You may not read logs of namespace {namespace} in cluster {cluster.name}: an admin "
            "gives the role logs.",
        )


class LogReader:
    """A context in which threads read logs of one namespace for one person."""

    def __init__(self, viewer: Viewer, cluster: Cluster, namespace: str) -> None:
        """Raises LogError. The first read connects."""
        check_allowed(viewer, cluster, namespace)
        self._cluster, self._namespace = cluster, namespace
        try:
            credentials = Credentials.from_document(unseal(bytes(cluster.credentials)))
            self._connection = Connection(
                credentials, connect_deadline=CONNECT_SECONDS, destinations=cluster_destinations()
            )
        except (SecretUnreadableError, KubeError) as error:
            sentence = error.sentence if isinstance(error, KubeError) else str(error)
            raise LogError(
                LogProblem.CLUSTER,
                f"The credentials of cluster {cluster.name} cannot be used: {sentence}",
            ) from error

    def __enter__(self) -> Self:
        """Raises LogError if too many others read logs."""
        if not _turns.acquire(timeout=QUEUE_SECONDS):
            raise LogError(LogProblem.BUSY, "Too many logs are being read. Try again later.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
        _turns.release()

    def read(
        self, pod: str, container: str, *, previous: bool, tail: int, kept_bytes: int
    ) -> LogEnd:
        """Return the end of a log. It takes 8 s at most, and no database. Raises LogError."""
        request = LogRequest(self._namespace, pod, container, previous, tail)
        try:
            return read_log(self._connection, request, kept_bytes=kept_bytes)
        except KubeError as error:
            raise self._translate(error, request) from error

    def _translate(self, error: KubeError, request: LogRequest) -> LogError:
        if error.code == KubeErrorCode.FORBIDDEN:
            return LogError(
                LogProblem.CLUSTER,
                f"The account of gangboard may not read logs in cluster {self._cluster.name}: it lacks get "
                "on pods/log.",
                command=rbac_command(self._cluster.name, self._cluster.context),
            )
        if error.is_object_missing:
            return LogError(LogProblem.NO_POD, f"Pod {request.pod} no longer exists.")
        if error.code == KubeErrorCode.BAD_REQUEST and error.api_status.message:
            return LogError(LogProblem.NO_LOG, f"There is no log: {error.api_status.message}.")
        return LogError(LogProblem.CLUSTER, error.sentence)


def record_reads(
    viewer: Viewer, cluster: Cluster, namespace: str, pods: Iterable[str], *, now: datetime
) -> None:
    """Record in the audit that a person read the logs of these pods, once in `AUDIT_PAUSE` for each pod."""
    names = {f"Pod/{pod}"[:400]: pod for pod in pods}
    known = AuditEntry.objects.filter(
        cluster_id=cluster.pk,
        namespace=namespace,
        at__gt=now - AUDIT_PAUSE,
        event=READ_EVENT,
        actor_name=viewer.name[:253],
        source=viewer.address[:64],
        object_name__in=list(names),
    )
    new = sorted(set(names) - set(known.values_list("object_name", flat=True)))
    with transaction.atomic():
        for name in new:
            audit(
                READ_EVENT,
                f"The log of pod {names[name]} was read.",
                at=now,
                actor=viewer.name,
                cluster=cluster,
                namespace=namespace,
                object_name=name,
                source=viewer.address,
            )
