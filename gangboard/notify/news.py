"""Texts of the items of a delivery, as one viewer may see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.action import ActionState
from gangboard.domain.cluster_reach import silence_sentence
from gangboard.domain.health import Health
from gangboard.notify.items import Item
from gangboard.readmodels.actions import action_row
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.verdict_spans import SpanRow, rows_of_spans
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, FeedEvent, Gang, VerdictSpan

_NO_SEVERITY = len(Health)
_BATCH = 500


@dataclass(frozen=True, slots=True)
class News:
    """One change as text."""

    type: str
    """`verdict`, `deleted`, `action`, `waits`, `hold-ends` or `cluster-silent`."""
    at: datetime
    cluster: str
    subject: str
    """The change and its subject: `Blocked: JobSet llama (research, eu-train)`."""
    sentence: str
    path: str
    """Path of its page."""
    next_step: str = ""
    number: int | None = None
    """Number in the feed."""
    namespace: str = ""
    kind: str = ""
    name: str = ""
    gang_id: str = ""
    health: str = ""
    code: str = ""
    accelerators: float = 0.0
    now: str = ""
    """The gang's current verdict if it differs, such as `Running`."""


def rank_items(items: Sequence[Item], *, viewer: Viewer) -> list[Item]:
    """Return the items that the viewer may see, worst first (1 query for 500 items of each type)."""
    ranks: dict[tuple[str, int | None], tuple[int, float]] = {}
    columns = ("cluster_id", "namespace", "health", "accelerators")
    for batch in _batches([item["id"] for item in items if item["type"] == "event"]):
        events = FeedEvent.objects.filter(number__in=batch)
        for number, cluster_id, namespace, health, accelerators in events.values_list(
            "number", "cluster_id", "namespace", "span__health", "span__accelerators"
        ):
            if viewer.sees(cluster_id, namespace):
                ranks["event", number] = _rank(health or "", accelerators or 0.0)
    for batch in _batches([item["id"] for item in items if item["type"] == "span"]):
        spans = VerdictSpan.objects.filter(pk__in=batch)
        for id_, cluster_id, namespace, health, accelerators in spans.values_list("pk", *columns):
            if viewer.sees(cluster_id, namespace):
                ranks["span", id_] = _rank(health, accelerators)
    visible = [
        item
        for item in items
        if item["type"] not in ("event", "span") or (item["type"], item["id"]) in ranks
    ]
    return sorted(visible, key=lambda item: ranks.get((item["type"], item.get("id", 0)), (0, 0.0)))


def read_news(items: Sequence[Item], *, viewer: Viewer, now: datetime) -> list[News]:
    """Return the texts of the items in their order, as the viewer may see them.

    Items whose object was deleted from the database, or that the viewer may not see, have no text.
    """
    events = {
        event.number: event
        for batch in _batches([item["id"] for item in items if item["type"] == "event"])
        for event in FeedEvent.objects.filter(number__in=batch).select_related("span")
    }
    ids = [item["id"] for item in items if item["type"] == "span"]
    waiting = {
        span.pk: span
        for batch in _batches(ids)
        for span in VerdictSpan.objects.filter(pk__in=batch)
    }
    spans = [event.span for event in events.values() if event.span] + list(waiting.values())
    scene = _Rows.read(spans, viewer=viewer, now=now)
    texts: list[News | None] = []
    for item in items:
        if item["type"] == "event":
            event = events.get(item["id"])
            texts.append(_event_news(event, scene, viewer) if event is not None else None)
        elif item["type"] == "span":
            span = waiting.get(item["id"])
            texts.append(scene.span_news(span, _news_type(span)) if span is not None else None)
        elif item["type"] == "hold":
            texts.append(_hold_news(item, scene, viewer))
        elif item["type"] == "silent":
            texts.append(_cluster_news(item, viewer, now))
    return [text for text in texts if text is not None]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that the texts of one delivery need."""

    rows: Mapping[int, SpanRow]
    gangs: Mapping[str, GangRow]
    clusters: Mapping[int, str]
    now: datetime

    @classmethod
    def read(cls, spans: Iterable[VerdictSpan], *, viewer: Viewer, now: datetime) -> _Rows:
        """Read all rows (3 queries, and those of redaction)."""
        spans = list(spans)
        clusters = read_freshness(viewer=viewer, now=now)
        gangs = Gang.objects.filter(
            viewer.gang_filter(), pk__in={span.gang_id for span in spans}
        ).defer("memory")
        rows = build_rows(list(gangs), viewer=viewer, clusters=clusters, now=now)
        return cls(
            rows_of_spans(spans, viewer=viewer),
            {row.id: row for row in rows},
            {id_: cluster.cluster for id_, cluster in clusters.items()},
            now,
        )

    def span_news(self, span: VerdictSpan, type: str, number: int | None = None) -> News | None:  # noqa: A002  # its column
        """Return the text of a verdict; None if the viewer may not see it."""
        row, cluster = self.rows.get(span.pk), self.clusters.get(span.cluster_id)
        if row is None or cluster is None:
            return None
        gang = self.gangs.get(span.gang_id)
        living = gang is not None and gang.gone_at is None
        same = gang is not None and living and (gang.health, gang.code) == (row.health, row.code)
        label = "Deleted" if type == "deleted" else row.face.label
        name = f"{printable(span.kind)} {printable(span.name)}"
        sentence = f"{row.title}. {row.message}" if row.title else row.message
        if type == "deleted":
            state = ", ".join(filter(None, (row.face.label, row.title)))
            sentence = f"It was deleted. Last state: {state}."
        elif type == "waits":
            sentence = f"{sentence} It has been so since {_format_time(span.began_at)}."
        return News(
            type=type,
            at=row.ended_at or self.now if type == "deleted" else row.began_at,
            number=number,
            cluster=cluster,
            namespace=printable(span.namespace),
            kind=printable(span.kind),
            name=printable(span.name),
            gang_id=span.gang_id,
            health=row.health,
            code=row.code,
            accelerators=span.accelerators,
            subject=f"{label}: {name} ({printable(span.namespace)}, {cluster})",
            sentence=sentence,
            next_step=gang.next_step if gang is not None and same and type != "deleted" else "",
            path=f"/gangs/{span.gang_id}/",
            now="" if same or type == "deleted" else _current_verdict(gang),
        )


def _news_type(span: VerdictSpan) -> str:
    settled = (Health.RUNNING, Health.SUCCEEDED, Health.FAILED)
    return "verdict" if span.health in settled else "waits"


def _current_verdict(gang: GangRow | None) -> str:
    if gang is None or gang.gone_at is not None:
        return "Deleted"
    return f"{gang.face.label}, {gang.title}"


def _event_news(event: FeedEvent, scene: _Rows, viewer: Viewer) -> News | None:
    if not viewer.sees(event.cluster_id, event.namespace):
        return None
    if event.span is not None:
        return scene.span_news(event.span, event.type, event.number)
    row = action_row(viewer=viewer, action_id=event.action_id or "")
    if row is None:
        return None
    return News(
        type="action",
        at=event.at,
        number=event.number,
        cluster=row.cluster,
        namespace=row.namespace,
        kind=row.kind,
        name=row.name,
        gang_id=row.gang_id,
        code=row.state,
        subject=f"{row.label}: {row.kind} {row.name} ({row.namespace}, {row.cluster})",
        sentence=row.message,
        next_step="Check who did it, and request the action again."
        if row.state == ActionState.REVERTED
        else "",
        path=f"/actions/{row.id}/",
    )


def _hold_news(item: Item, scene: _Rows, viewer: Viewer) -> News | None:
    cluster = scene.clusters.get(item["cluster"])
    if cluster is None or not viewer.sees(item["cluster"], item["namespace"]):
        return None
    until = datetime.fromisoformat(item["until"])
    namespace, job = printable(item["namespace"]), printable(item["job"])
    return News(
        type="hold-ends",
        at=until,
        cluster=cluster,
        namespace=namespace,
        kind="Hold",
        name=printable(item["name"]),
        gang_id=item["gang"],
        subject=f"Hold ends: Job {job} ({namespace}, {cluster})",
        sentence=f"The Hold on Job {job} ends at {_format_time(until)}.",
        next_step="Release the Job before then, or hold it again for longer.",
        path=f"/gangs/{item['gang']}/" if item["gang"] else "/holds/",
    )


def _cluster_news(item: Item, viewer: Viewer, now: datetime) -> News | None:
    cluster = Cluster.objects.filter(viewer.cluster_filter(), pk=item["cluster"]).first()
    if cluster is None:
        return None
    cause = read_freshness(viewer=viewer, now=now)[cluster.pk].sentence
    sentence = silence_sentence(cluster.name, cluster.contact_at, cluster.problem)
    return News(
        type="cluster-silent",
        at=cluster.contact_at or cluster.created_at,
        cluster=cluster.name,
        subject=f"Cannot be read: cluster {cluster.name}",
        sentence=f"{sentence} The state of its gangs is unknown. {cause}".rstrip(),
        next_step="Its page shows what to do.",
        path=f"/clusters/{cluster.name}/",
    )


def _rank(health: str, accelerators: float) -> tuple[int, float]:
    known = health in set(Health) and health != Health.UNKNOWN
    return Health(health).severity if known else _NO_SEVERITY, -accelerators


def _format_time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _batches(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]
