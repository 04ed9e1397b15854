"""Rows of gangs for the Board, for `GET gangs/` and for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gangboard.domain.advice import in_cluster
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import SubmitterSource
from gangboard.domain.verdict import Members
from gangboard.readmodels.advice import (
    AdviceStepRow,
    Victims,
    build_steps,
    harmless_step,
    read_victims,
)
from gangboard.readmodels.cursors import CursorError, read_page
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import printable, quantity_text
from gangboard.readmodels.freshness import (
    Freshness,
    Level,
    joined,
    read_freshness,
    silence_parts,
    silent_ids,
)
from gangboard.readmodels.gang_query import (
    GROUPINGS,
    ORDERINGS,
    GangFilters,
    select_gangs,
    sort_keys,
)
from gangboard.readmodels.measured_use import UseRow, read_use
from gangboard.readmodels.redaction import (
    hidden_names,
    hidden_refs_in_detail,
    redact,
    redact_advice,
)
from gangboard.readmodels.state_labels import (
    NOT_OBSERVED,
    NOT_OBSERVED_TITLE,
    Face,
    face_of,
    past_face,
)
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_advice
from gangboard.store.models import Gang

__all__ = [
    "GROUPINGS",
    "ORDERINGS",
    "CursorError",
    "GangFilters",
    "GangRow",
    "GangsPage",
    "list_gangs",
]

_DELETED = Face("deleted", "Deleted", "✕", Health.UNKNOWN.value)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bar:
    """The members bar, in percent of the desired pods."""

    ready: float
    held: float
    quorum: float | None

    @property
    def held_from(self) -> float:
        """The start of the held part, which is at the end of the bar."""
        return round(100 - self.held, 1)


_EMPTY = Bar(0.0, 0.0, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRow:
    """A gang with its verdict."""

    id: str = shown("Id")
    cluster: str = shown("Cluster")
    api_group: str = shown("API group", "API group of the owner; empty for the core group.")
    api_version: str = shown("API version", "Version without the group, such as `v1`.")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Gang")
    uid: str = shown("UID")
    generation: int = shown("Generation")
    health: str = shown("Health", choices=Health)
    last_health: str = shown(
        "Last health",
        "Its health before it became unknown.",
        choices=Health,
        empty_is_null=True,
    )
    stage: str = shown("Stage", choices=Stage)
    code: str = shown("Code", "Reason code, such as `fragmented`.")
    title: str = shown("Reason")
    message: str = shown("Why", "One sentence with names and numbers.")

    @shown_property("Next steps", "Sentences about what would let it run, the next step first.")
    def advice(self) -> tuple[str, ...]:
        """Return the next steps as sentences, the least harm first."""
        return tuple(step.sentence for step in self.next_steps)

    next_steps: tuple[AdviceStepRow, ...] = shown("Next steps", "The same as fields.")
    members: Members = shown("Pods")
    requests: Mapping[str, str] = shown(
        "Requests", "Sum over all desired pods: decimal strings in base units."
    )
    queue: str = shown("Queue", empty_is_null=True)
    priority: str = shown("Priority", "Priority class, or the number as text.", empty_is_null=True)
    labels: Mapping[str, str] = shown("Labels", "Labels of the owner: the first 64 by key.")
    submitter: str = shown(
        "Submitter",
        "Person or program that created the owner, by the label or annotation that the installation names. Without it, the field manager that alone wrote its spec in the second of its creation, such as `kubectl-create`. Null if unknown.",
        empty_is_null=True,
    )
    submitter_source: str = shown(
        "Submitter from",
        "Origin of `submitter`. Users can write any label and annotation.",
        choices=SubmitterSource,
        empty_is_null=True,
    )
    use: UseRow | None = shown(
        "Accelerator use",
        "By the Prometheus of its cluster; null if it has none, or if no pod of the gang runs.",
        default=None,
    )
    created_at: datetime | None = shown("Created")
    since: datetime = shown("Since", "Since when the verdict has been this one.")
    since_first_seen: bool = shown(
        "First seen",
        "`since` is only when gangboard first saw it, so the true time may be longer. Null for deleted gangs.",
        may_be_null=True,
    )
    observed_at: datetime = shown("Observed", "When this was last known to be true.")
    stale: bool = shown("Stale", "The cluster has not answered for 30 seconds.")

    face: Face
    message_parts: tuple[str, datetime | None, str]
    """The message as text before an age, start of the age, and text after it."""
    accelerators: float
    bar: Bar
    members_known: bool
    """Whether its pods were observed. Otherwise their numbers are meaningless."""
    members_were: bool
    """Whether the numbers of the members are those of the last observation."""
    restarts: int
    max_restarts: int | None
    gone_at: datetime | None
    context: str
    """The kubeconfig context of its cluster. Empty if unknown."""

    @property
    def status(self) -> Face:
        """The face of its health, or of a deleted gang."""
        return self.face if self.gone_at is None else _DELETED

    @property
    def last_face(self) -> Face:
        """The face of its health, grey for a deleted gang: `Was degraded`."""
        return self.face if self.gone_at is None else past_face(self.face)

    @property
    def restarts_text(self) -> str:
        """The number of restarts and, while it exists, their maximum: `3 of 10`."""
        most = self.max_restarts if self.gone_at is None else None
        return f"{self.restarts:,}" if most is None else f"{self.restarts:,} of {most:,}"

    @property
    def use_text(self) -> str:
        """The use of its accelerators: `87 %`, `unknown`, or empty without a source."""
        return "" if self.use is None else self.use.text

    @property
    def use_percent(self) -> float | None:
        """The mean use of its accelerators in percent. None if it is unknown, and without a source."""
        return None if self.use is None else self.use.percent

    @property
    def next_step(self) -> str:
        """The first advice, or empty."""
        return self.next_steps[0].sentence if self.next_steps else ""

    @property
    def requests_shown(self) -> tuple[tuple[str, str], ...]:
        """Resources, and quantities with units."""
        return tuple((name, quantity_text(name, text)) for name, text in self.requests.items())

    @property
    def shown(self) -> GangRow:
        """The row without ages and times of observation. Equal rows print the same."""
        steps = tuple(replace(step, read_at=None) for step in self.next_steps)
        use = None if self.use is None else self.use.shown
        return replace(self, message="", observed_at=_LONG_AGO, next_steps=steps, use=use)


@dataclass(frozen=True, slots=True)
class GangsPage:
    """Some gangs in order, and the cursor of the next page, None if there is none."""

    rows: tuple[GangRow, ...]
    next_cursor: str | None


def list_gangs(
    *,
    viewer: Viewer,
    filters: GangFilters,
    limit: int = 50,
    cursor: str | None = None,
    now: datetime,
    clusters: Mapping[int, Freshness] | None = None,
) -> GangsPage:
    """Return one page of the gangs that the viewer may see.

    `clusters` is the result of `read_freshness` for the same viewer and time. This takes 1 query, another one
    without `clusters`, and those of `build_rows`. Raises CursorError, and ValueError for an unknown ordering or
    group_by.
    """
    if clusters is None:
        clusters = read_freshness(viewer=viewer, now=now)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    unread = ("memory", "detail") if viewer.sees_everything else ("memory",)
    gangs = gangs.defer(*unread)
    page, following = read_page(
        gangs, sort_keys(filters), cursor=cursor, limit=limit, clusters=clusters
    )
    return GangsPage(build_rows(page, viewer=viewer, clusters=clusters, now=now), following)


def build_rows(
    gangs: Sequence[Gang], *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime
) -> tuple[GangRow, ...]:
    """Return gangs as rows for this viewer at this time.

    This takes 1 query if a step stops another gang, else none, and those of `read_use`. A viewer of some namespaces adds those of
    `hidden_names`.
    """
    texts: dict[int, list[str]] = {}
    for gang in gangs:
        if viewer.sees_cluster(gang.cluster_id):
            continue
        advice = (step.sentence for step in unpack_advice(gang.advice))
        texts.setdefault(gang.cluster_id, []).extend((gang.message, *advice))
    quoted = {
        id_: hidden_names(lines, viewer=viewer, cluster_id=id_) for id_, lines in texts.items()
    }
    steps = {
        gang.pk: () if gang.gone_at is not None else unpack_advice(gang.advice) for gang in gangs
    }
    uses = read_use(gangs, viewer=viewer, clusters=clusters, now=now)
    victims = read_victims(((gang.cluster_id, steps[gang.pk]) for gang in gangs), viewer=viewer)
    return tuple(
        _build_row(
            gang,
            quoted.get(gang.cluster_id, ()),
            victims,
            uses.get(gang.pk),
            viewer=viewer,
            clusters=clusters,
            now=now,
        )
        for gang in gangs
    )


def _build_row(
    gang: Gang,
    quoted: tuple[ObjectRef, ...],
    victims: Victims,
    use: UseRow | None,
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> GangRow:
    cluster = clusters.get(gang.cluster_id) or _unlisted(gang)
    hidden = _hidden(gang, viewer, quoted)
    members = _members(gang)
    message = printable(redact(gang.message, hidden, own=gang.name))
    known = gang.health != Health.UNKNOWN
    row = GangRow(
        id=gang.id,
        cluster=cluster.cluster,
        api_group=printable(gang.api_group),
        api_version=printable(gang.api_version),
        kind=printable(gang.kind),
        namespace=printable(gang.namespace),
        name=printable(gang.name),
        uid=gang.uid,
        generation=gang.generation,
        health=gang.health,
        last_health=gang.last_health if gang.health == Health.UNKNOWN else "",
        stage=gang.stage,
        code=printable(gang.code),
        title=printable(gang.title),
        message=message,
        next_steps=_next_steps(gang, hidden, victims, cluster, now),
        members=members,
        requests={printable(name): printable(str(value)) for name, value in gang.requests.items()},
        queue=printable(gang.queue),
        priority=printable(gang.priority),
        labels={printable(key): printable(value) for key, value in gang.labels.items()},
        submitter=printable(gang.submitter),
        submitter_source=gang.submitter_source,
        use=use,
        created_at=gang.created_at,
        since=gang.since,
        since_first_seen=gang.since_first_seen,
        observed_at=gang.gone_at or max(filter(None, (gang.observed_at, cluster.contact_at))),
        stale=cluster.is_stale and gang.gone_at is None,
        face=face_of(gang.health),
        message_parts=(message, None, ""),
        accelerators=gang.accelerators,
        bar=_bar(members) if known else _EMPTY,
        members_known=known,
        members_were=gang.gone_at is not None,
        restarts=gang.restarts,
        max_restarts=gang.max_restarts,
        gone_at=gang.gone_at,
        context=cluster.context,
    )
    # A deleted gang keeps its last state also while its cluster is silent.
    return _silenced(row, cluster, now) if cluster.is_silent and gang.gone_at is None else row


def _members(gang: Gang) -> Members:
    return Members(
        desired=gang.desired,
        quorum=gang.quorum,
        created=gang.created,
        scheduled=gang.scheduled,
        ready=gang.ready,
        succeeded=gang.succeeded,
        failed=gang.failed,
        held=gang.held,
    )


def _next_steps(
    gang: Gang, hidden: tuple[ObjectRef, ...], victims: Victims, cluster: Freshness, now: datetime
) -> tuple[AdviceStepRow, ...]:
    if gang.gone_at is not None:
        return ()
    steps = redact_advice(unpack_advice(gang.advice), hidden, own=gang.name)
    named = (in_cluster(step, cluster.cluster, cluster.context) for step in steps)
    return build_steps(named, gang, victims, now=now)


def _silenced(row: GangRow, cluster: Freshness, now: datetime) -> GangRow:
    """Return the row as unknown, because its cluster is silent."""
    last = row.last_health if row.health == Health.UNKNOWN else row.health
    message_parts = silence_parts(cluster, last)
    return replace(
        row,
        health=Health.UNKNOWN.value,
        last_health=last,
        code=NOT_OBSERVED,
        title=NOT_OBSERVED_TITLE,
        message=joined(message_parts, now),
        message_parts=message_parts,
        next_steps=(harmless_step(cluster.sentence),) if cluster.sentence else (),
        face=face_of(Health.UNKNOWN),
        bar=_EMPTY,
        members_were=True,
        use=None,
    )


def _unlisted(gang: Gang) -> Freshness:
    """Return the freshness of a cluster that was added between two queries."""
    return Freshness(gang.cluster_id, "", Level.NEVER, None, "", "", 0, listed=False)


def _hidden(gang: Gang, viewer: Viewer, quoted: tuple[ObjectRef, ...]) -> tuple[ObjectRef, ...]:
    if viewer.sees_cluster(gang.cluster_id):
        return ()
    return hidden_refs_in_detail(viewer, gang.cluster_id, bytes(gang.detail), quoted)


def _bar(members: Members) -> Bar:
    size = max(members.desired, 1)

    def percent(pods: int) -> float:
        return round(min(max(pods, 0) / size, 1.0) * 100, 1)

    return Bar(
        ready=percent(members.ready + members.succeeded),
        held=percent(members.held),
        quorum=None if members.quorum is None else percent(members.quorum),
    )
