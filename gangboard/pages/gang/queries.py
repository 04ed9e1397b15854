"""One gang with everything that explains its verdict, for one viewer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gangboard.domain.action import ActionTarget
from gangboard.domain.advice import in_cluster
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import GangMode, JobState
from gangboard.pages.gang.events import EventRow, recent_events
from gangboard.pages.gang.findings import (
    FindingRow,
    deleted_finding,
    deleted_member,
    finding_row,
    last_known_finding,
    last_known_member,
)
from gangboard.pages.gang.groups import group_matrix, order_as_tree
from gangboard.pages.gang.history import read_gang_history
from gangboard.pages.gang.logs import may_open_logs
from gangboard.pages.gang.next_steps import named_objects
from gangboard.pages.gang.queue_waits import QueueWait, queue_of_gang, read_waits
from gangboard.pages.gang.rows import (
    GangDetail,
    HeldRow,
    JobQueueRow,
    JobRow,
    KindFact,
    MakerRow,
    SchedulingRow,
    open_action,
)
from gangboard.pages.gang.stages import make_steps
from gangboard.plugins import registry
from gangboard.readmodels.action_offers import (
    gang_offers,
    job_subject,
    maker_subject,
    owner_subject,
)
from gangboard.readmodels.action_rows import ActionRow, OfferRow
from gangboard.readmodels.actions import actions_of_gang
from gangboard.readmodels.advice import (
    STOPPING,
    AdviceStepRow,
    build_steps,
    count_advised,
    read_victims,
    with_counts,
    with_typical_wait,
)
from gangboard.readmodels.fit import FitShape, fit_shapes
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.groups import GroupOfGangRow, groups_by_uid
from gangboard.readmodels.kubectl import commands_for
from gangboard.readmodels.members import member_row
from gangboard.readmodels.redaction import Redactor, finding_texts, hidden_names
from gangboard.readmodels.state_labels import face_of, job_face, past_face, past_sentence
from gangboard.readmodels.time_to_start import TypicalWait
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import read_maker
from gangboard.store.gang_search import has_name
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Gang


@dataclass(frozen=True, slots=True)
class _Source:
    """The stored gang, its cluster and the viewer, from which the page is built."""

    gang: Gang
    detail: Detail
    cluster: Freshness
    clusters: Mapping[int, Freshness]
    viewer: Viewer
    now: datetime


@dataclass(frozen=True, slots=True)
class _Redaction:
    """Redaction of names that the viewer may not see in texts about the gang."""

    redactor: Redactor
    hidden: tuple[ObjectRef, ...]

    def text(self, text: str) -> str:
        """Return a text without the hidden names."""
        return self.redactor.redact_text(text, self.hidden)


@dataclass(frozen=True, slots=True)
class _ActionData:
    """The buttons of the owner, its Jobs and its maker, and the last actions on them."""

    offers: Mapping[str, tuple[OfferRow, ...]]
    """By uid."""
    history: tuple[ActionRow, ...]
    maker: Owner | None

    def fields_of(self, uid: str) -> dict[str, Any]:
        """Return the buttons of an object and its open action, as fields of a row."""
        return {
            "actions": self.offers.get(uid, ()),
            "open_action": open_action(self.history, uid),
        }


def gang_detail(*, viewer: Viewer, gang_id: str, now: datetime) -> GangDetail | None:
    """Return one gang, or None if it does not exist or the viewer may not see it.

    A deleted gang is returned, with `row.gone_at`, while its row is stored.
    """
    source = _find_source(viewer, gang_id, now)
    if source is None:
        return None
    detail = _build_detail(source)
    if detail.row.gone_at is not None:
        return _as_deleted(detail, detail.row.gone_at)
    return _as_last_known(detail) if detail.row.members_were else detail


def find_gangs_named(
    name: str, *, viewer: Viewer, cluster: str = "", namespace: str = ""
) -> tuple[str, ...]:
    """Return the ids of at most two visible gangs with this name, or with a Job, pod, group or node of it.

    `cluster` and `namespace` narrow the result. Deleted gangs count only if no other gang has the name
    (at most 2 queries).
    """
    filters = {"cluster__name": cluster, "namespace": namespace}
    named = Gang.objects.filter(
        has_name(name),
        viewer.gang_filter(),
        **{column: text for column, text in filters.items() if text},
    )
    living = named.filter(gone_at=None).order_by("id").values_list("id", flat=True)[:2]
    return tuple(living) or tuple(
        named.exclude(gone_at=None).order_by("-gone_at", "id").values_list("id", flat=True)[:2]
    )


def _find_source(viewer: Viewer, gang_id: str, now: datetime) -> _Source | None:
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    gang = Gang.objects.filter(viewer.gang_filter(), pk=gang_id).first()
    if gang is None or (gang.gone_at is not None and not gang.detail):
        return None  # the history of a deleted gang tells more than a row without details
    clusters = read_freshness(viewer=viewer, now=now)
    cluster = clusters.get(gang.cluster_id)
    if cluster is None:
        return None
    return _Source(gang, unpack_detail(bytes(gang.detail)), cluster, clusters, viewer, now)


def _build_detail(source: _Source) -> GangDetail:
    gang, detail, viewer, cluster = source.gang, source.detail, source.viewer, source.cluster
    (row,) = build_rows((gang,), viewer=viewer, clusters=source.clusters, now=source.now)
    events = recent_events(gang=gang, detail=detail, viewer=viewer)
    uids = [ref.uid for ref in detail.groups]
    groups = groups_by_uid(uids, viewer=viewer, cluster=cluster, owner=(gang.api_group, gang.kind))
    redaction = _redaction(source, events, groups.rows)
    gang_history = read_gang_history(viewer=viewer, gang=gang, cluster=cluster, now=source.now)
    findings, row = _with_steps(source, redaction, row, gang_history.typical)
    action_data = _action_data(source)
    return GangDetail(
        row=row,
        findings=findings,
        jobs=tuple(_job(job, redaction, row, action_data) for job in detail.jobs),
        members=tuple(member_row(member) for member in detail.members),
        groups=tuple(_group(group, detail, redaction) for group in order_as_tree(groups.rows)),
        gang_mode=_printable_mode(detail.gang_mode),
        matrix=group_matrix(detail.jobs, detail.members),
        facts=tuple(
            KindFact(printable(label), printable(text)) for label, text in detail.facts.items()
        ),
        groups_unseen=groups.unseen,
        steps=make_steps(row),
        commands=commands_for(row),
        events=tuple(replace(event, note=redaction.text(event.note)) for event in events),
        cluster_sentence=cluster.sentence,
        actions=action_data.offers.get(gang.uid, ()),
        history=action_data.history,
        maker=_maker(action_data.maker, action_data) if action_data.maker is not None else None,
        fit=_fit(source),
        gang_history=gang_history,
        shows_logs=may_open_logs(viewer, gang.cluster_id, gang.namespace),
        named=named_objects(
            detail.findings,
            gang,
            redactor=redaction.redactor,
            viewer=viewer,
            clusters=source.clusters,
            now=source.now,
        ),
        queue_waits=_queue_waits(source),
        queue_page=queue_of_gang(gang, detail.groups),
    )


def _redaction(
    source: _Source, events: Iterable[EventRow], groups: Iterable[GroupOfGangRow]
) -> _Redaction:
    gang, detail = source.gang, source.detail
    quoted = hidden_names(
        _quoted_texts(detail, events, groups), viewer=source.viewer, cluster_id=gang.cluster_id
    )
    nodes = frozenset(member.node for member in detail.members if member.node)
    redactor = Redactor(source.viewer, gang.cluster_id, gang.name, nodes, quoted)
    return _Redaction(redactor, redactor.hidden_refs(detail.findings))


def _action_data(source: _Source) -> _ActionData:
    gang, viewer = source.gang, source.viewer
    history = actions_of_gang(viewer=viewer, gang_id=gang.pk)
    maker = _visible_maker(gang, viewer)
    subjects = [owner_subject(gang), *(job_subject(job) for job in source.detail.jobs)]
    if maker is not None:
        subjects.append(maker_subject(maker))
    offers = gang_offers(
        viewer=viewer, gang=gang, cluster=source.cluster, subjects=subjects, now=source.now
    )
    return _ActionData(offers, history, maker)


def _with_steps(
    source: _Source, redaction: _Redaction, row: GangRow, typical: TypicalWait | None
) -> tuple[tuple[FindingRow, ...], GangRow]:
    """Return the findings and the row, with the cost of each step (at most 2 queries)."""
    gang, viewer = source.gang, source.viewer
    findings = [
        redaction.redactor.redact_finding(finding, redaction.hidden)
        for finding in source.detail.findings
    ]
    advice = [step for finding in findings for step in finding.advice]
    victims = read_victims([(gang.cluster_id, advice)], viewer=viewer)
    uids = {ref.uid for step in advice for ref in step.objects if step.kind in STOPPING}
    uids.update(victim.uid for step in row.next_steps for victim in step.victims)
    counts = count_advised(uids, cluster_id=gang.cluster_id, viewer=viewer, but=gang.pk)

    def with_costs(steps: Iterable[AdviceStepRow]) -> tuple[AdviceStepRow, ...]:
        return with_typical_wait(with_counts(steps, counts), typical)

    rows = []
    for finding in findings:
        named = (in_cluster(step, row.cluster, row.context) for step in finding.advice)
        steps = with_costs(build_steps(named, gang, victims, now=source.now))
        rows.append(finding_row(finding, (step.sentence_without_ages for step in steps)))
    return tuple(rows), replace(row, next_steps=with_costs(row.next_steps))


def _quoted_texts(
    detail: Detail, events: Iterable[EventRow], groups: Iterable[GroupOfGangRow]
) -> Iterator[str]:
    """Yield the texts of one gang that quote a controller and may contain names."""
    jobs = (job.finding for job in detail.jobs if job.finding is not None)
    yield from finding_texts((*detail.findings, *jobs))
    yield from (event.note for event in events)
    yield from (group.placed.message for group in groups if group.placed is not None)


def _group(group: GroupOfGangRow, detail: Detail, redaction: _Redaction) -> GroupOfGangRow:
    domains = detail.domains.get(group.uid, {})
    placed = group.placed
    if placed is not None:
        placed = replace(placed, message=redaction.text(placed.message))
    return replace(
        group,
        domains={printable(key): printable(value) for key, value in domains.items()},
        placed=placed,
    )


def _as_deleted(detail: GangDetail, gone_at: datetime) -> GangDetail:
    """Return the last state of a deleted gang, without steps, advice and commands."""
    return replace(
        detail,
        findings=tuple(deleted_finding(finding, gone_at) for finding in detail.findings),
        jobs=tuple(replace(job, state=past_face(job.state), is_past=True) for job in detail.jobs),
        members=tuple(map(deleted_member, detail.members)),
        steps=(),
        commands=(),
        shows_logs=False,
    )


def _as_last_known(detail: GangDetail) -> GangDetail:
    """Return the last known state of a gang in a silent cluster."""
    return replace(
        detail,
        findings=tuple(last_known_finding(item) for item in detail.findings),
        jobs=tuple(_last_known_job(job) for job in detail.jobs),
        members=tuple(last_known_member(member) for member in detail.members),
        gang_mode=None,
        matrix=None,
    )


def _printable_mode(mode: GangMode | None) -> GangMode | None:
    if mode is None:
        return None
    return replace(mode, reason=printable(mode.reason), asked=printable(mode.asked))


def _queue_waits(source: _Source) -> tuple[QueueWait, ...]:
    if source.gang.gone_at is not None:
        return ()
    uids = (source.gang.uid, *(job.ref.uid for job in source.detail.jobs))
    groups = source.detail.groups
    return read_waits(source.gang, uids, groups, viewer=source.viewer, cluster=source.cluster)


def _fit(source: _Source) -> tuple[FitShape, ...]:
    """Return the node-fit table, or its reason to be unknown while the cluster is silent."""
    gang, cluster = source.gang, source.cluster
    if gang.gone_at is not None:
        return ()
    silence = f"cluster {cluster.cluster} {cluster.does_not}" if cluster.is_silent else ""
    names_nodes = source.viewer.names_nodes(gang.cluster_id)
    return fit_shapes(source.detail.fit, names_nodes=names_nodes, silence=silence)


def _visible_maker(gang: Gang, viewer: Viewer) -> Owner | None:
    maker = read_maker(gang) if gang.gone_at is None else None
    if maker is None or not viewer.sees(gang.cluster_id, maker.meta.ref.namespace):
        return None
    return maker


def _maker(maker: Owner, action_data: _ActionData) -> MakerRow:
    ref = maker.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    return MakerRow(
        api_group=printable(ref.group),
        kind=printable(ref.kind),
        name=printable(ref.name),
        uid=ref.uid,
        generation=maker.meta.generation,
        suspended=maker.suspended,
        sentence=printable(kind.sentence(maker)) if kind is not None else "",
        **action_data.fields_of(ref.uid),
    )


def _job(job: JobState, redaction: _Redaction, row: GangRow, action_data: _ActionData) -> JobRow:
    name = printable(job.ref.name)
    return JobRow(
        name=name,
        uid=job.ref.uid,
        generation=job.generation,
        role=printable(job.part) if job.part != job.ref.name else "",
        suspended=job.suspended,
        held=job.held,
        finished=job.finished,
        state=job_face(job),
        desired=job.desired,
        created=job.created,
        ready=job.ready,
        nodes=tuple(printable(node) for node in job.nodes),
        restarts=job.restarts,
        scheduling=SchedulingRow(
            printable(job.scheduling.mode),
            printable(job.scheduling.label),
            printable(job.scheduling.reason),
        ),
        message=printable(redaction.text(job.finding.message)) if job.finding else "",
        hold=_held(job) if job.hold else None,
        queue=JobQueueRow(printable(job.queue), job.queue_standing) if job.queue_standing else None,
        target=ActionTarget(
            *(row.cluster, job.ref.group, job.ref.kind, row.namespace, name),
            uid=job.ref.uid,
            generation=job.generation,
        ),
        **action_data.fields_of(job.ref.uid),
    )


def _held(job: JobState) -> HeldRow:
    return HeldRow(
        name=printable(job.hold),
        since=job.held_since,
        by=printable(job.held_by),
        reason=printable(job.held_reason),
        until=job.held_until,
    )


def _last_known_job(job: JobRow) -> JobRow:
    """Return the last known Job. Its message is empty, because the findings have the last problem."""
    state, sentence = face_of(Health.UNKNOWN), past_sentence(job.state.word)
    return replace(job, state=state, is_past=True, past_state_sentence=sentence, message="")
