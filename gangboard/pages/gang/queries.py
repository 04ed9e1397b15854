"""One gang with everything that explains it, for one viewer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gangboard.domain.action import ActionTarget
from gangboard.domain.advice import in_cluster
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import Finding, GangMode, JobState
from gangboard.pages.gang.events import EventRow, recent_events
from gangboard.pages.gang.findings import finding_row, finding_then, member_then
from gangboard.pages.gang.groups import as_tree, group_matrix
from gangboard.pages.gang.history import read_gang_history
from gangboard.pages.gang.next_steps import named_objects
from gangboard.pages.gang.queue_waits import QueueWait, queue_of_gang, read_waits
from gangboard.pages.gang.rows import GangDetail, JobRow, KindFact, MakerRow, open_action
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
    ShownStep,
    count_advised,
    read_victims,
    shown_steps,
    with_counts,
    with_typical_wait,
)
from gangboard.readmodels.child_job_face import job_face
from gangboard.readmodels.fit import FitShape, fit_shapes
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.groups import GroupRow, groups_by_uid
from gangboard.readmodels.kubectl import commands_for
from gangboard.readmodels.members import member_row
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quoted_names import finding_texts, unseen_names
from gangboard.readmodels.redaction import Redactor, redact
from gangboard.readmodels.state_labels import face_of, past_sentence
from gangboard.readmodels.waits import TypicalWait
from gangboard.store.access import Viewer
from gangboard.store.action_context import read_maker
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Gang


def gang_detail(*, viewer: Viewer, gang_id: str, now: datetime) -> GangDetail | None:
    """Return one gang, or None when there is none or the viewer may not see it.

    A gang whose owner was deleted is returned while its row is kept, with `row.gone_at`.
    """
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    gang = Gang.objects.filter(viewer.gang_filter(), pk=gang_id).first()
    if gang is None or (gang.gone_at is not None and not gang.detail):
        return None  # of the outline of a deleted gang its history says more
    clusters = read_freshness(viewer=viewer, now=now)
    cluster = clusters.get(gang.cluster_id)
    if cluster is None:
        return None
    detail = unpack_detail(bytes(gang.detail))
    nodes = frozenset(member.node for member in detail.members if member.node)
    (row,) = build_rows((gang,), viewer=viewer, clusters=clusters, now=now)
    events = recent_events(gang=gang, detail=detail, viewer=viewer)
    uids = [ref.uid for ref in detail.groups]
    groups = groups_by_uid(uids, viewer=viewer, cluster=cluster, owner=(gang.api_group, gang.kind))
    quoted = unseen_names(
        _quoted_texts(detail, events, groups.rows), viewer=viewer, cluster_id=gang.cluster_id
    )
    redactor = Redactor(viewer, gang.cluster_id, gang.name, nodes, quoted)
    hidden = redactor.hidden_refs(detail.findings)
    gang_history = read_gang_history(viewer=viewer, gang=gang, cluster=cluster, now=now)
    findings, row = _with_steps(
        [redactor.redact_finding(item, hidden) for item in detail.findings],
        row,
        gang,
        gang_history.typical,
        viewer=viewer,
        now=now,
    )
    history = actions_of_gang(viewer=viewer, gang_id=gang.pk)
    maker = _visible_maker(gang, viewer)
    subjects = [owner_subject(gang), *(job_subject(job) for job in detail.jobs)]
    if maker is not None:
        subjects.append(maker_subject(maker))
    offers = gang_offers(viewer=viewer, gang=gang, cluster=cluster, subjects=subjects, now=now)
    found = GangDetail(
        row=row,
        findings=tuple(
            finding_row(item, (step.timeless for step in steps)) for item, steps in findings
        ),
        jobs=tuple(
            replace(
                _job(job, hidden, gang, row),
                actions=offers.get(job.ref.uid, ()),
                open_action=open_action(history, job.ref.uid),
            )
            for job in detail.jobs
        ),
        members=tuple(member_row(member) for member in detail.members),
        groups=tuple(
            replace(
                one,
                domains=_printable_domains(detail.domains.get(one.uid, {})),
                placed=_redact_condition(one.placed, redactor, hidden),
            )
            for one in as_tree(groups.rows)
        ),
        gang_mode=_printable_mode(detail.gang_mode),
        matrix=group_matrix(detail.jobs, detail.members),
        facts=tuple(
            KindFact(printable(label), printable(text)) for label, text in detail.facts.items()
        ),
        groups_unseen=groups.unseen,
        steps=make_steps(row),
        commands=commands_for(row),
        events=tuple(
            replace(event, note=redactor.redact_text(event.note, hidden)) for event in events
        ),
        cluster_sentence=cluster.sentence,
        actions=offers.get(gang.uid, ()),
        history=history,
        maker=_maker(maker, offers, history) if maker is not None else None,
        fit=_fit(detail, gang, viewer, cluster),
        gang_history=gang_history,
        named=named_objects(
            detail.findings,
            gang,
            redactor=redactor,
            viewer=viewer,
            clusters=clusters,
            now=now,
        ),
        queue_waits=_queue_waits(gang, detail, viewer, cluster),
        queue_page=queue_of_gang(gang, detail.groups),
    )
    if row.gone_at is not None:
        return _past(found)
    return _then(found) if row.members_were else found


def _with_steps(
    findings: Sequence[Finding],
    row: GangRow,
    gang: Gang,
    typical: TypicalWait | None,
    *,
    viewer: Viewer,
    now: datetime,
) -> tuple[list[tuple[Finding, tuple[ShownStep, ...]]], GangRow]:
    """Return the findings with their steps, and the row, each step with all that it costs (at most 2 queries)."""
    given = [step for finding in findings for step in finding.advice]
    victims = read_victims([(gang.cluster_id, given)], viewer=viewer)
    uids = {ref.uid for step in given for ref in step.objects if step.kind in STOPPING}
    uids.update(victim.uid for step in row.next_steps for victim in step.victims)
    counts = count_advised(uids, cluster_id=gang.cluster_id, viewer=viewer, but=gang.pk)

    def completed(steps: Iterable[ShownStep]) -> tuple[ShownStep, ...]:
        return with_typical_wait(with_counts(steps, counts), typical)

    told = []
    for finding in findings:
        named = (in_cluster(step, row.cluster, row.context) for step in finding.advice)
        told.append((finding, completed(shown_steps(named, gang, victims, now=now))))
    return told, replace(row, next_steps=completed(row.next_steps))


def _quoted_texts(
    detail: Detail, events: Iterable[EventRow], groups: Iterable[GroupRow]
) -> Iterator[str]:
    """Yield the texts of one gang in which a controller may have named something."""
    jobs = (job.finding for job in detail.jobs if job.finding is not None)
    yield from finding_texts((*detail.findings, *jobs))
    yield from (event.note for event in events)
    yield from (group.placed.message for group in groups if group.placed is not None)


def _redact_condition(
    condition: Condition | None, redactor: Redactor, hidden: tuple[ObjectRef, ...]
) -> Condition | None:
    if condition is None:
        return None
    return replace(condition, message=redactor.redact_text(condition.message, hidden))


def _past(detail: GangDetail) -> GangDetail:
    """Return a deleted gang as it was last. It is in no step, and no advice or command is about it."""
    findings = tuple(replace(finding, advice=()) for finding in detail.findings)
    return replace(detail, findings=findings, steps=(), commands=())


def _then(detail: GangDetail) -> GangDetail:
    """Return the gang of a cluster that is silent: all that was seen of it is of the last look."""
    return replace(
        detail,
        findings=tuple(finding_then(item) for item in detail.findings),
        jobs=tuple(_job_then(job) for job in detail.jobs),
        members=tuple(member_then(member) for member in detail.members),
        gang_mode=None,
        matrix=None,
    )


def _printable_domains(domains: Mapping[str, str]) -> dict[str, str]:
    return {printable(key): printable(value) for key, value in domains.items()}


def _printable_mode(mode: GangMode | None) -> GangMode | None:
    if mode is None:
        return None
    return replace(mode, reason=printable(mode.reason), asked=printable(mode.asked))


def _queue_waits(
    gang: Gang, detail: Detail, viewer: Viewer, cluster: Freshness
) -> tuple[QueueWait, ...]:
    if gang.gone_at is not None:
        return ()
    uids = (gang.uid, *(job.ref.uid for job in detail.jobs))
    return read_waits(gang, uids, viewer=viewer, cluster=cluster)


def _fit(detail: Detail, gang: Gang, viewer: Viewer, cluster: Freshness) -> tuple[FitShape, ...]:
    """Return the node-fit table; what was worked out before a silence does not hold any more."""
    if gang.gone_at is not None:
        return ()
    silence = "" if not cluster.is_silent else f"cluster {cluster.cluster} {cluster.does_not}"
    return fit_shapes(detail.fit, names_nodes=viewer.names_nodes(gang.cluster_id), silence=silence)


def _visible_maker(gang: Gang, viewer: Viewer) -> Owner | None:
    maker = read_maker(gang) if gang.gone_at is None else None
    if maker is None or not viewer.sees(gang.cluster_id, maker.meta.ref.namespace):
        return None
    return maker


def _maker(
    maker: Owner, offers: Mapping[str, tuple[OfferRow, ...]], history: tuple[ActionRow, ...]
) -> MakerRow:
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
        actions=offers.get(ref.uid, ()),
        open_action=open_action(history, ref.uid),
    )


def _job(job: JobState, hidden: tuple[ObjectRef, ...], gang: Gang, row: GangRow) -> JobRow:
    name = printable(job.ref.name)
    return JobRow(
        name=name,
        uid=job.ref.uid,
        generation=job.generation,
        part=printable(job.part) if job.part != job.ref.name else "",
        suspended=job.suspended,
        held=job.held,
        finished=job.finished,
        state=job_face(job),
        desired=job.desired,
        created=job.created,
        ready=job.ready,
        nodes=tuple(printable(node) for node in job.nodes),
        restarts=job.restarts,
        mode=printable(job.scheduling.mode),
        mode_label=printable(job.scheduling.label),
        mode_reason=printable(job.scheduling.reason),
        message=printable(redact(job.finding.message, hidden, own=gang.name))
        if job.finding
        else "",
        hold=printable(job.hold),
        held_since=job.held_since,
        held_by=printable(job.held_by),
        held_reason=printable(job.held_reason),
        held_until=job.held_until,
        queue=printable(job.queue),
        queue_standing=job.queue_standing,
        target=ActionTarget(
            *(row.cluster, job.ref.group, job.ref.kind, row.namespace, name),
            uid=job.ref.uid,
            generation=job.generation,
        ),
    )


def _job_then(job: JobRow) -> JobRow:
    """Return a Job as it was at the last look: what was the matter with it stands in the findings."""
    state = face_of(Health.UNKNOWN)
    return replace(job, state=state, past=True, was=past_sentence(job.state.word), message="")
