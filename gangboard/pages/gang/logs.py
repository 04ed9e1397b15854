"""Logs of the containers of one gang, for people with the role `logs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection

from gangboard.actions.container_logs import LogEnd, LogError, LogProblem, LogReader, record_reads
from gangboard.domain.pod import Container, Pod
from gangboard.plugins import registry
from gangboard.readmodels.formatting import printable, printable_log
from gangboard.readmodels.members import MemberRow, member_row
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster, Gang
from gangboard.store.objects import read_objects

TAIL = 200
"""Lines of each log."""
MOST_PANES = 6
"""Logs on one page."""
FIRST_PODS = 3
"""Pods of a page whose address names none: those with a problem first."""
LISTED_PODS = 60
"""Pods to select. For further ones, the address or the field takes a name."""
FOLLOWED = 60
"""Refreshes until the page stops to follow: 5 minutes."""
PANE_BYTES = 128 * 1024
"""Bytes of a log on a page. 200 lines of a training run have about 20 KiB."""
ONE_BYTES = 1024 * 1024
"""Bytes of a log in the API."""
NO_NODE = "Pod {} has no node yet, so there is no log."
"""API servers answer with an empty text then."""
LACKS_LATER = "Later lines are missing: gangboard reads 4 MiB at most. Ask for fewer lines."


@dataclass(frozen=True, slots=True)
class LogSource:
    """A gang whose pods may have logs."""

    gang: Gang
    cluster: Cluster
    members: Mapping[str, MemberRow]
    """By the name of the pod, those with a problem first."""

    @property
    def title(self) -> str:
        """The name of the gang."""
        return printable(self.gang.name)


@dataclass(frozen=True, slots=True)
class LogPane:
    """The log of one container, or the reason why there is none."""

    pod: str
    container: str
    """Empty if the containers of the pod are unknown."""
    previous: bool
    text: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""
    is_fault: bool = False
    """The problem needs a person. A container without a log is no fault."""
    command: str = ""

    @property
    def label(self) -> str:
        """`run-workers-0, container main, previous run`."""
        container = f", container {self.container}" if self.container else ""
        run = ", previous run" if self.previous else ""
        return f"{self.pod}{container}{run}"


@dataclass(frozen=True, slots=True)
class LogFilters:
    """The address of the page."""

    pods: tuple[str, ...] = ()
    container: str = ""
    previous: bool = False
    follow: int = 0
    """Remaining refreshes of a page that follows."""

    def query(self, *, follow: int) -> str:
        """Return the query string of the same logs."""
        pairs = [("pod", pod) for pod in self.pods]
        pairs += [("container", self.container)] if self.container else []
        pairs += [("previous", "1")] if self.previous else []
        pairs += [("follow", str(follow))] if follow else []
        return urlencode(pairs)


def may_open_logs(viewer: Viewer, cluster_id: int, namespace: str) -> bool:
    """Return whether pages show links to logs."""
    return settings.LOGS and viewer.may_read_logs(cluster_id, namespace)


def find_source(gang_id: str, *, viewer: Viewer) -> LogSource | None:
    """Return the gang with its pods, or None if it is missing, deleted or invisible (1 query)."""
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    gangs = Gang.objects.filter(viewer.gang_filter(), pk=gang_id, gone_at=None)
    gang = gangs.select_related("cluster").first()
    if gang is None:
        return None
    members = [
        (member.ref.name, member_row(member))
        for member in unpack_detail(bytes(gang.detail)).members
    ]
    members.sort(key=lambda pair: pair[1].is_well)
    return LogSource(gang, gang.cluster, dict(members))


def read_panes(
    source: LogSource, filters: LogFilters, *, viewer: Viewer, now: datetime
) -> tuple[LogPane, ...]:
    """Return the logs of some pods, all read at the same time (4 queries). Raises LogError.

    It takes about 10 s at most and holds no connection to the database meanwhile.
    """
    panes = _panes(source, filters)
    with LogReader(viewer, source.cluster, source.gang.namespace) as reader:
        _release_database()

        def read(pane: LogPane) -> LogPane:
            return _read_pane(reader, source, pane)

        with ThreadPoolExecutor(MOST_PANES, thread_name_prefix="logs") as threads:
            results = tuple(threads.map(read, panes))
    _record(source, [pane.pod for pane in results if not pane.problem], viewer=viewer, now=now)
    return results


def read_one(
    source: LogSource,
    *,
    pod: str,
    container: str,
    previous: bool,
    tail: int,
    viewer: Viewer,
    now: datetime,
) -> LogPane:
    """Return the log of one container. Raises LogError."""
    with LogReader(viewer, source.cluster, source.gang.namespace) as reader:
        _release_database()
        end = reader.read(pod, container, previous=previous, tail=tail, kept_bytes=ONE_BYTES)
    if not end.text and not source.members[pod].node:
        raise LogError(LogProblem.NO_LOG, NO_NODE.format(pod))
    _record(source, [pod], viewer=viewer, now=now)
    return _pane_of(end, LogPane(pod, container, previous))


def _panes(source: LogSource, filters: LogFilters) -> tuple[LogPane, ...]:
    """Return the panes of the page, not read yet (1 query)."""
    with_node = [name for name, row in source.members.items() if row.node]
    names = filters.pods or with_node[:FIRST_PODS]
    uids = [source.members[name].uid for name in names[:MOST_PANES]]
    pods = read_objects(source.cluster.pk, uids, {registry.pods().key: Pod})
    panes = [
        LogPane(name, container, filters.previous)
        for name, uid in zip(names, uids, strict=False)
        for container in _containers(pods.get(uid), filters.container)
    ]
    return tuple(panes[:MOST_PANES])


def _containers(pod: Pod | None, chosen: str) -> Iterable[str]:
    """Return the names of the containers to show. Init containers that succeeded are left out."""
    if chosen or pod is None:
        return (chosen,)
    return [item.name for item in pod.containers if not _is_over(item)] or ("",)


def _is_over(container: Container) -> bool:
    return container.init and container.exit_code == 0


def _read_pane(reader: LogReader, source: LogSource, pane: LogPane) -> LogPane:
    try:
        end = reader.read(
            pane.pod, pane.container, previous=pane.previous, tail=TAIL, kept_bytes=PANE_BYTES
        )
    except LogError as error:
        is_fault = error.problem != LogProblem.NO_LOG
        return replace(pane, problem=str(error), is_fault=is_fault, command=error.command)
    if not end.text and not source.members[pane.pod].node:
        return replace(pane, problem=NO_NODE.format(pane.pod))
    return _pane_of(end, pane)


def _pane_of(end: LogEnd, pane: LogPane) -> LogPane:
    notes = []
    if end.lacks_earlier:
        size = len(end.text) // 1024
        notes.append(f"Earlier lines are missing: only the last {size} KiB are shown.")
    if end.lacks_later:
        notes.append(LACKS_LATER)
    return replace(pane, text=printable_log(end.text), notes=tuple(notes))


def _record(source: LogSource, pods: Iterable[str], *, viewer: Viewer, now: datetime) -> None:
    record_reads(viewer, source.cluster, source.gang.namespace, pods, now=now)


def _release_database() -> None:
    """Return the connection, because a cluster may take seconds and connections are few."""
    if not connection.in_atomic_block:
        connection.close()
