"""Metrics of Prometheus: their names, labels and meanings.

Labels are names of clusters, words of the contract and keys of resources, so there are few of each. Namespaces are
named only where a setting says how many.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from gangboard.pages.metrics.fleet_families import (
    gauge,
    of_accelerators,
    of_finished_actions,
    of_namespaces,
    of_start_waits,
)
from gangboard.pages.metrics.rows import ActionCount, Expiry, GangCount, Metrics, ResourceCount
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.hold_counts import HoldCount
from gangboard.readmodels.liveness import ORDERS, PROCESSES, Liveness

NOT_ASKED = "not-asked"
"""Problem of a silent cluster that no poll worker reads, for lack of a worker or a slot."""
_GANG_LABELS = ("cluster", "health", "code")
_SILENT = "Of a cluster that is not up all gangs are health unknown, code not-observed."


class MetricsCollector(Collector):
    """Collects the figures of one moment; None if the database did not answer."""

    def __init__(self, metrics: Metrics | None) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        metrics = self._metrics
        yield GaugeMetricFamily(
            "gangboard_database_up",
            "0: the database did not answer, and nothing of what is stored there is in this answer.",
            value=float(metrics is not None),
        )
        if metrics is None:
            return
        yield from _of_clusters(metrics.clusters, metrics.expiries)
        yield from _of_gangs(metrics.gangs)
        yield from _of_resources(metrics.resources)
        yield _of_holds(metrics.holds)
        yield _of_actions(metrics.actions)
        yield of_finished_actions(
            metrics.actions, [cluster.cluster for cluster in metrics.clusters]
        )
        yield of_accelerators(metrics.accelerators)
        yield of_start_waits(metrics.start_waits)
        yield from of_namespaces(metrics.namespaces)
        yield from _of_processes(metrics.liveness)


def _of_clusters(clusters: tuple[Freshness, ...], expiries: tuple[Expiry, ...]) -> Iterator[Metric]:
    yield gauge(
        "cluster_up",
        "1: the cluster answered within the last 120 seconds. 0: the state of its gangs is unknown.",
        ("cluster",),
        (((cluster.cluster,), not cluster.is_silent) for cluster in clusters),
    )
    yield gauge(
        "cluster_problem",
        "1, with the code of what keeps gangboard from reading the cluster; not-asked: it is not up, "
        "and no poll worker asks it. No series: it is read.",
        ("cluster", "problem"),
        (
            ((cluster.cluster, cluster.problem or NOT_ASKED), 1)
            for cluster in clusters
            if cluster.problem or cluster.is_silent
        ),
    )
    yield gauge(
        "cluster_last_contact_timestamp_seconds",
        "When the cluster answered last, as Unix time. No series: never.",
        ("cluster",),
        (
            ((cluster.cluster,), cluster.contact_at.timestamp())
            for cluster in clusters
            if cluster.contact_at
        ),
    )
    yield gauge(
        "cluster_listed",
        "1: all that the cluster serves was read completely once. 0: gangs may be missing in "
        "gangboard_gangs.",
        ("cluster",),
        (((cluster.cluster,), cluster.listed) for cluster in clusters),
    )
    yield gauge(
        "cluster_credentials_expiry_timestamp_seconds",
        "When the credentials of this identity (reader, actor) end, as Unix time. No series: not known, "
        "or there are none.",
        ("cluster", "identity"),
        (((expiry.cluster, expiry.identity), expiry.expires_at.timestamp()) for expiry in expiries),
    )


def _of_gangs(gangs: tuple[GangCount, ...]) -> Iterator[Metric]:
    rows = [((count.cluster, count.health, count.code), count) for count in gangs]
    yield gauge(
        "gangs",
        f"Gangs that are there, by health and reason code. {_SILENT} No series: there are none, or the "
        "cluster was not read yet; see gangboard_cluster_up and gangboard_cluster_listed.",
        _GANG_LABELS,
        ((labels, count.gangs) for labels, count in rows),
    )
    yield gauge(
        "gang_accelerators",
        f"Accelerators that these gangs request. {_SILENT}",
        _GANG_LABELS,
        ((labels, count.accelerators) for labels, count in rows),
    )
    yield gauge(
        "gang_oldest_since_timestamp_seconds",
        "Start of the longest current verdict among these gangs, as Unix time. The true start may be earlier, if it was before gangboard watched. None of a cluster that is "
        "not up.",
        _GANG_LABELS,
        (
            (labels, count.oldest_since.timestamp())
            for labels, count in rows
            if count.oldest_since is not None
        ),
    )


def _of_resources(resources: tuple[ResourceCount, ...]) -> Iterator[Metric]:
    readable = [resource for resource in resources if resource.is_readable]
    yield gauge(
        "resource_readable",
        "Whether this resource of the cluster can be read; where it cannot, state says why. None of a "
        "cluster that is not up, and none of resources that it does not serve.",
        ("cluster", "resource", "state"),
        (
            ((resource.cluster, resource.resource, resource.state), resource.is_readable)
            for resource in resources
        ),
    )
    yield gauge(
        "resource_objects",
        "Objects of a resource that can be read.",
        ("cluster", "resource"),
        (((resource.cluster, resource.resource), resource.objects) for resource in readable),
    )
    yield gauge(
        "resource_undecodable_objects",
        "Objects of a resource that can be read, and that were not understood.",
        ("cluster", "resource"),
        (((resource.cluster, resource.resource), resource.problems) for resource in readable),
    )


def _of_holds(holds: tuple[HoldCount, ...]) -> Metric:
    return gauge(
        "holds",
        "Holds, each on one Job. in_force yes: proved by the last dry run; no: refuted, lost, or without "
        "its policy; unknown: not proved yet, or not readable. No series: the Holds of the cluster "
        "cannot be seen.",
        ("cluster", "in_force"),
        (((count.cluster, count.in_force.value), count.holds) for count in holds),
    )


def _of_actions(actions: tuple[ActionCount, ...]) -> Metric:
    return gauge(
        "actions",
        "Recorded actions, by how far they have come. No counter: an action leaves one state for another, "
        "and verified ones can become reverted.",
        ("cluster", "verb", "state"),
        (((count.cluster, count.verb, count.state), count.actions) for count in actions),
    )


def _of_processes(liveness: Liveness) -> Iterator[Metric]:
    dead = {kind for kind, _ in liveness.dead}
    yield gauge(
        "process_up",
        "1: a process of this kind (poll, act, prove, notify, beat) gave a sign of life lately.",
        ("process",),
        (((kind,), kind not in dead) for kind in PROCESSES),
    )
    yield gauge(
        "orders_arrive",
        "0: beat and a worker of this queue live, but tasks do not arrive. No series while one of them is down.",
        ("queue",),
        (
            ((kind.removesuffix("-orders"),), kind not in dead)
            for kind, processes in ORDERS.items()
            if dead.isdisjoint(processes)
        ),
    )
    yield gauge(
        "poll_slots",
        "Clusters that the living poll workers can watch at once.",
        (),
        (((), liveness.slots),),
    )
