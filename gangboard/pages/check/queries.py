"""Checks for the page, the API and the command, and their answers for one viewer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Any

from gangboard.decode.manifests import Document, read_manifests
from gangboard.domain.check import NOT_OBSERVED, CheckedGang, CheckVerdict, ClusterCheck
from gangboard.domain.objects import ObjectRef
from gangboard.pages.check.rows import (
    CheckResult,
    CheckRow,
    ManifestFaultRow,
    QueuedBeforeRow,
    TypicalWaitRow,
)
from gangboard.plugins import registry
from gangboard.plugins.manifest_shapes import shape_of
from gangboard.readmodels.advice import with_typical_wait
from gangboard.readmodels.fit import fit_shapes
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.readmodels.redaction import hidden_names, redact
from gangboard.readmodels.state_labels import reason_title
from gangboard.readmodels.time_to_start import Similarity, TypicalWait, typical_wait
from gangboard.store.access import Viewer
from gangboard.store.checks import (
    ManifestShapes,
    RunningCheck,
    begin_check,
    find_check,
)
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster, Gang

MOST_BEHIND = 20
"""Gangs before it in its queue that a row names."""
LATE = "No poll worker has answered in time. The check goes on: look at it again in a moment."
_TITLES: Mapping[str, str] = {
    "manifest-refused": "Would be refused",
    "kind-not-served": "Kind not served",
    "unknown-kind": "No gang",
    NOT_OBSERVED: "Cannot tell",
}
"""Titles of codes that no rule has."""


class NoClusterError(LookupError):
    """No cluster that the viewer may see has the name, or the viewer sees no cluster."""


def with_namespace(documents: Iterable[Document], namespace: str) -> tuple[Document, ...]:
    """Return the documents. Those without a namespace get this one, as with `kubectl --namespace`."""
    if not namespace:
        return tuple(documents)
    return tuple(
        document
        if document.metadata.get("namespace")
        else replace(document, manifest=_placed(document, namespace))
        for document in documents
    )


def _placed(document: Document, namespace: str) -> dict[str, Any]:
    return {
        **document.manifest,
        "metadata": {**document.metadata, "namespace": namespace},
    }


def begin(*, viewer: Viewer, text: str, clusters: Collection[str] = (), namespace: str = "") -> str:
    """Begin a check of a text in the visible clusters, or in some of them, and return its id.

    Raises ManifestError for a bad text, NoClusterError, and `store.checks.CheckError` for too many checks.
    """
    shapes = [shape_of(document) for document in with_namespace(read_manifests(text), namespace)]
    visible = Cluster.objects.filter(viewer.cluster_filter())
    ids = dict(visible.values_list("name", "pk"))
    for name in clusters:
        if name not in ids:
            raise NoClusterError(name)
    if not ids:
        raise NoClusterError
    chosen = {ids[name] for name in clusters or ids}
    return begin_check(
        viewer=viewer,
        shapes={cluster_id: _visible_shapes(shapes, viewer, cluster_id) for cluster_id in chosen},
    )


def _visible_shapes(shapes: Sequence[Document], viewer: Viewer, cluster_id: int) -> ManifestShapes:
    """Return the documents that a viewer may ask about in a cluster.

    Objects of the whole cluster and queues are only for viewers of the whole cluster. With a queue of their own, others
    could learn about quotas that they do not use.
    """
    seen = [
        shape
        for shape in shapes
        if viewer.sees_cluster(cluster_id)
        or (viewer.sees(cluster_id, shape.namespace) and _has_namespace(shape))
    ]
    chosen = set(map(id, seen))
    hidden = [shape for shape in shapes if id(shape) not in chosen and _makes_gangs(shape)]
    return ManifestShapes(tuple(seen), tuple(hidden))


def _has_namespace(shape: Document) -> bool:
    """Return whether an object is namespaced and belongs to no admission system."""
    kind = (shape.group, shape.kind)
    of_queues = {
        (resource.group, resource.kind)
        for system in registry.queue_systems()
        for resource in system.resources
    }
    return kind not in of_queues and (bool(shape.metadata.get("namespace")) or _makes_gangs(shape))


def _makes_gangs(shape: Document) -> bool:
    kind = (shape.group, shape.kind)
    groups = {
        (resource.group, resource.kind)
        for api in registry.grouping_apis()
        for resource in api.resources
    }
    return kind == ("", "Pod") or kind in groups or registry.owner_kind(*kind) is not None


def read_check(check_id: str, *, viewer: Viewer, now: datetime) -> CheckResult | None:
    """Return a check of the viewer with the answers so far, or None."""
    running = find_check(check_id, viewer=viewer)
    return None if running is None else _result(running, viewer, now)


def _result(running: RunningCheck, viewer: Viewer, now: datetime) -> CheckResult:
    answers = [
        cluster.answer or ClusterCheck(cluster.cluster_id, cluster.cluster, why_unknown=LATE)
        for cluster in running.clusters
    ]
    result = build_result(answers, viewer=viewer, now=now)
    return replace(
        result,
        id=running.id,
        complete=running.is_complete,
        created_at=running.created_at,
        answered=sum(cluster.answer is not None for cluster in running.clusters),
    )


def build_result(answers: Sequence[ClusterCheck], *, viewer: Viewer, now: datetime) -> CheckResult:
    """Return the answers of clusters as rows, by gang, the best cluster first."""
    clusters = read_freshness(viewer=viewer, now=now)
    gangs = _gangs_of(answers)
    rows = [
        row
        for answer in answers
        for row in _rows(answer, gangs, viewer=viewer, clusters=clusters, now=now)
    ]
    return CheckResult(
        id="",
        complete=True,
        created_at=now,
        results=tuple(sorted(rows, key=_place)),
        notes=tuple(dict.fromkeys(printable(note) for answer in answers for note in answer.notes)),
    )


def _place(row: CheckRow) -> tuple[int, str, str, int, float, str]:
    """Return the position of a row: by gang, then the best forecast and the shortest typical wait."""
    wait = row.typical_wait.seconds if row.typical_wait is not None else inf
    rank = CheckVerdict(row.verdict).rank
    return row.document, row.kind, row.name, rank, wait, row.cluster


def _gangs_of(answers: Iterable[ClusterCheck]) -> tuple[CheckedGang, ...]:
    """Return each gang of the manifests once, for clusters that know no more than its name."""
    gangs: dict[tuple[int, str, str, str], CheckedGang] = {}
    for answer in answers:
        for gang in answer.gangs:
            gangs.setdefault((gang.number, gang.kind, gang.namespace, gang.name), gang)
    return tuple(gangs.values())


def _rows(
    answer: ClusterCheck,
    gangs: Sequence[CheckedGang],
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> list[CheckRow]:
    if answer.gangs:
        return [
            _row(gang, answer, viewer=viewer, clusters=clusters, now=now) for gang in answer.gangs
        ]
    unknown = CheckedGang(0, "", "", "", "", CheckVerdict.UNKNOWN, NOT_OBSERVED)
    return [
        _plain_row(replace(gang, verdict=unknown.verdict, code=unknown.code), answer)
        for gang in gangs or (unknown,)
    ]


def _plain_row(gang: CheckedGang, answer: ClusterCheck) -> CheckRow:
    """Return the row of a gang without a computed verdict."""
    return CheckRow(
        document=gang.number,
        api_group=printable(gang.group),
        kind=printable(gang.kind),
        namespace=printable(gang.namespace),
        name=printable(gang.name),
        cluster=answer.cluster,
        verdict=gang.verdict.value,
        code=gang.code,
        title=_TITLES.get(gang.code) or reason_title(gang.code),
        message=printable(answer.why_unknown or gang.message),
        behind=(),
        typical_wait=None,
        advice=(),
        faults=tuple(
            ManifestFaultRow(field=printable(fault.field), sentence=printable(fault.sentence))
            for fault in gang.faults
        ),
        fit=(),
        notes=tuple(map(printable, gang.notes)),
    )


def _row(
    gang: CheckedGang,
    answer: ClusterCheck,
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> CheckRow:
    row = _plain_row(gang, answer)
    if gang.row is None:
        hidden = hidden_names([row.message], viewer=viewer, cluster_id=answer.cluster_id)
        return replace(row, message=redact(row.message, hidden, own=gang.name))
    freshness = clusters.get(answer.cluster_id)
    if freshness is not None and freshness.is_silent:
        why = replace(answer, why_unknown=freshness.why_closed)
        return _plain_row(replace(gang, verdict=CheckVerdict.UNKNOWN, code=NOT_OBSERVED), why)
    stored = Gang(**gang.row)
    (shown_gang,) = build_rows((stored,), viewer=viewer, clusters=clusters, now=now)
    runs = gang.verdict is CheckVerdict.WOULD_RUN
    typical = None if runs else _typical(gang, stored, viewer)
    advice = () if runs or gang.faults else shown_gang.next_steps
    return replace(
        row,
        message=shown_gang.message,
        behind=tuple(_behind(ref, viewer, answer.cluster_id) for ref in gang.behind[:MOST_BEHIND]),
        typical_wait=_wait_row(typical),
        advice=with_typical_wait(advice, typical),
        fit=fit_shapes(
            unpack_detail(bytes(stored.detail)).fit,
            names_nodes=viewer.names_nodes(answer.cluster_id),
        ),
    )


def _typical(gang: CheckedGang, stored: Gang, viewer: Viewer) -> TypicalWait:
    like = Similarity(stored.cluster_id, stored.queue, gang.shape, stored.desired)
    return typical_wait(viewer=viewer, like=like, gang_id="")


def _wait_row(typical: TypicalWait | None) -> TypicalWaitRow | None:
    if typical is None or typical.median_seconds is None:
        return None
    return TypicalWaitRow(seconds=typical.median_seconds, text=typical.text, gangs=typical.cases)


def _behind(ref: ObjectRef, viewer: Viewer, cluster_id: int) -> QueuedBeforeRow:
    if not viewer.sees(cluster_id, ref.namespace):
        return QueuedBeforeRow(kind="", namespace=None, name=None)
    return QueuedBeforeRow(
        kind=printable(ref.kind), namespace=printable(ref.namespace), name=printable(ref.name)
    )
