"""Accelerator use of gangs, as their pages and the API show it. Use that is not known is never 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from django.conf import settings

from gangboard.domain.text import count
from gangboard.prometheus_sources import source_of
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, GangUse, UseSource
from gangboard.store.use import stale_after

NO_VALUE = "The Prometheus has no recent value for its pods."
NOT_READ = "Its Prometheus has not been read yet."
NOT_RECENT = "No poll worker has read its Prometheus recently."
FAILS = "Its Prometheus cannot be read now."
"""For viewers who do not see the whole cluster. Others read the cause, which names the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow:
    """Use of the accelerators of a gang in percent, by the Prometheus of its cluster."""

    json_name: ClassVar[str] = "MeasuredUse"

    percent: float | None = shown("Use", "Mean over its pods; null if it is unknown.", default=None)
    least: float | None = shown("Least", "Of the pod that uses least.", default=None)
    least_pod: str = shown("Pod with the least use", empty_is_null=True, default="")
    most: float | None = shown("Most", "Of the pod that uses most.", default=None)
    most_pod: str = shown("Pod with the most use", empty_is_null=True, default="")
    pods: int = shown("Pods", "Pods with a value.", default=0)
    idle_since: datetime | None = shown(
        "Idle since", "Since when no pod has used its accelerators; null if one does.", default=None
    )
    read_at: datetime | None = shown("Read", "When this was read.", default=None)
    why: str = shown(
        "Why unknown", "One sentence; null if it is known.", empty_is_null=True, default=""
    )

    @property
    def text(self) -> str:
        """The mean: `87 %`, or `unknown`."""
        return "unknown" if self.percent is None else f"{self.percent:.0f} %"

    @property
    def range_text(self) -> str:
        """The extremes: `81 % (run-0) to 92 % (run-1)`. Empty if they are equal, and if unknown."""
        if self.least is None or self.most is None or round(self.least) == round(self.most):
            return ""
        return f"{self.least:.0f} % ({self.least_pod}) to {self.most:.0f} % ({self.most_pod})"

    @property
    def shown(self) -> UseRow:
        """The row as pages print it, without the time of the reading."""
        return replace(
            self,
            read_at=None,
            percent=_rounded(self.percent),
            least=_rounded(self.least),
            most=_rounded(self.most),
        )


def _rounded(percent: float | None) -> int | None:
    return None if percent is None else round(percent)


def read_use(
    gangs: Iterable[Gang], *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime
) -> dict[str, UseRow]:
    """Return the use of gangs that run pods, by gang id. Gangs of clusters without a source are left out.

    This takes 2 queries, and none without a source.
    """
    sources = settings.PROMETHEUS_SOURCES
    measured = [
        gang
        for gang in gangs
        if sources
        and gang.gone_at is None
        and gang.ready
        and (cluster := clusters.get(gang.cluster_id)) is not None
        and source_of(cluster.cluster, sources) is not None
    ]
    if not measured:
        return {}
    rows = GangUse.objects.in_bulk([gang.pk for gang in measured])
    states = UseSource.objects.in_bulk({gang.cluster_id for gang in measured})
    result = {}
    for gang in measured:
        row = rows.get(gang.pk)
        if row is not None and now - row.read_at <= stale_after():
            result[gang.pk] = _known(row)
        elif row is not None or gang.accelerators:
            why = _why(states.get(gang.cluster_id), now)
            is_cause = why not in (NOT_READ, NOT_RECENT, NO_VALUE)
            hides_cause = is_cause and not viewer.sees_cluster(gang.cluster_id)
            result[gang.pk] = UseRow(why=FAILS if hides_cause else why)
    return result


def _known(row: GangUse) -> UseRow:
    return UseRow(
        percent=round(row.mean, 1),
        least=round(row.least, 1),
        least_pod=printable(row.least_pod),
        most=round(row.most, 1),
        most_pod=printable(row.most_pod),
        pods=row.pods,
        idle_since=row.idle_since,
        read_at=row.read_at,
    )


def _why(state: UseSource | None, now: datetime) -> str:
    if state is None or (state.read_at is None and not state.sentence):
        return NOT_READ
    if state.sentence:
        return printable(state.sentence)
    if state.read_at is not None and now - state.read_at > stale_after():
        return NOT_RECENT
    return NO_VALUE


def source_states(names: Mapping[int, str], now: datetime) -> dict[int, str]:
    """Return a sentence about the Prometheus of each cluster that has one, by cluster id.

    `names` are the clusters whose viewer sees them as a whole. This takes 1 query, and none without sources.
    """
    sources = settings.PROMETHEUS_SOURCES
    ids = [id_ for id_, name in names.items() if source_of(name, sources) is not None]
    if not ids:
        return {}
    states = UseSource.objects.in_bulk(ids)
    return {id_: _source_sentence(states.get(id_), now) for id_ in ids}


def _source_sentence(state: UseSource | None, now: datetime) -> str:
    why = _why(state, now)
    if why != NO_VALUE or state is None:
        return why
    return f"Its Prometheus has values of {count(state.pods, 'pod')}."
