"""Gauges in general, and metrics of ended actions, accelerators, waits and namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
)

from gangboard.domain.action import ActionState, Verb
from gangboard.pages.metrics.rows import AcceleratorCount, ActionCount, NamespaceCount
from gangboard.pages.metrics.start_waits import BOUNDS, StartWaits

APPLIED = "applied"
"""Result of an action that was verified or reverted. An action moves from the first to the second, so neither
alone would be a counter."""
_RESULTS: dict[str, tuple[str, ...]] = {
    ActionState.VERIFIED: (APPLIED,),
    ActionState.REVERTED: (APPLIED, "reverted"),
    ActionState.REFUSED: ("refused",),
    ActionState.CONFLICT: ("conflict",),
    ActionState.GONE: ("gone",),
    ActionState.EXPIRED: ("expired",),
    ActionState.FAILED: ("failed",),
}


def gauge(
    name: str, meaning: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    """Return the gauge `gangboard_NAME`. Each row has the values of its labels and its number."""
    family = GaugeMetricFamily(f"gangboard_{name}", meaning, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


def of_finished_actions(actions: Iterable[ActionCount], clusters: Iterable[str]) -> Metric:
    """Return how many actions have ended, by result. Every series begins at 0, so the first action is an increase."""
    results = sorted({result for of_state in _RESULTS.values() for result in of_state})
    totals = Counter(dict.fromkeys(product(clusters, map(str, Verb), results), 0))
    for count in actions:
        for result in _RESULTS.get(count.state, ()):
            totals[count.cluster, count.verb, result] += count.actions
    family = CounterMetricFamily(
        "gangboard_actions_finished",
        "Actions that have ended, by result. applied: the change was made; reverted: of these, the ones that "
        "were undone. The others changed nothing.",
        labels=("cluster", "verb", "result"),
    )
    for labels, number in totals.items():
        family.add_metric(labels, number)
    return family


def of_accelerators(rows: Iterable[AcceleratorCount]) -> Metric:
    """Return what becomes of the accelerators of each cluster."""
    return gauge(
        "accelerators",
        "Accelerators on the nodes of a cluster. used: by whole gangs and other pods; held: by "
        "incomplete gangs; free: on nodes that take pods; away: free on nodes that do not. No series: the nodes could "
        "not be read within the last 5 minutes.",
        ("cluster", "state"),
        (((row.cluster, row.state), row.accelerators) for row in rows),
    )


def of_start_waits(rows: Iterable[StartWaits]) -> Metric:
    """Return how long gangs waited that began to run lately."""
    family = GaugeHistogramMetricFamily(
        "gangboard_start_wait_seconds",
        "Time to start of gangs that first ran within the last hour (the newest 300): from their creation, without suspended time. These are gauges: use them "
        "without rate. None of a cluster that is not up.",
        labels=("cluster",),
    )
    for row in rows:
        bounds = [*map(str, map(float, BOUNDS)), "+Inf"]
        counts = zip(bounds, map(float, (*row.at_most, row.gangs)), strict=True)
        family.add_metric((row.cluster,), list(counts), row.seconds)
    return family


def of_namespaces(rows: Iterable[NamespaceCount]) -> Iterator[Metric]:
    """Return gangs and accelerators of the largest namespaces; no metric if none is to be named."""
    counts = tuple(rows)
    if not counts:
        return
    labels = ("cluster", "namespace", "health")
    yield gauge(
        "namespace_gangs",
        "Gangs of the namespaces whose gangs ask for the most accelerators, as many as "
        "GANGBOARD_METRICS_NAMESPACES says.",
        labels,
        (((row.cluster, row.namespace, row.health), row.gangs) for row in counts),
    )
    yield gauge(
        "namespace_accelerators",
        "Accelerators that these gangs request.",
        labels,
        (((row.cluster, row.namespace, row.health), row.accelerators) for row in counts),
    )
