"""One gang with everything that explains it: the Gang page and `GET gangs/{id}/`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gangboard.domain.advice import in_cluster
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.verdict import Finding, GangMode, JobState
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
from gangboard.readmodels.events import EventRow, recent_events
from gangboard.readmodels.findings import FindingRow, finding_row
from gangboard.readmodels.fit import FitShape, fit_shapes
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.gang_history import GangHistory, read_gang_history
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.group_matrix import GroupMatrix, group_matrix
from gangboard.readmodels.group_tree import as_tree
from gangboard.readmodels.group_visibility import UnseenGroups
from gangboard.readmodels.groups import ConditionRow, GroupOfGangRow, groups_by_uid
from gangboard.readmodels.kubectl import KubectlCommand, commands_for
from gangboard.readmodels.last_look import finding_then, member_then
from gangboard.readmodels.members import MemberRow, member_row
from gangboard.readmodels.next_steps import NamedObjects, named_objects
from gangboard.readmodels.printable import printable
from gangboard.readmodels.queue_links import queue_of_gang
from gangboard.readmodels.queue_waits import QueueWait, read_waits
from gangboard.readmodels.quoted_names import finding_texts, unseen_names
from gangboard.readmodels.redaction import Redactor, redact
from gangboard.readmodels.stage_steps import StageStep, make_steps
from gangboard.readmodels.state_labels import Face, face_of, past_sentence
from gangboard.readmodels.timeline import TimelineRow, make_timeline
from gangboard.readmodels.waits import TypicalWait
from gangboard.store.access import Viewer
from gangboard.store.action_context import read_maker
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Gang

SHOWN_NODES = 4
"""Nodes of a Job that are named before the rest is counted."""
_IN_QUEUE: Mapping[str, str] = {
    QueueStanding.WAITS: "waits in",
    QueueStanding.ADMITTED: "admitted by",
    QueueStanding.DEACTIVATED: "deactivated in",
}
_WITHOUT_GROUP = frozenset({"not-eligible", "owned", "pod-by-pod"})
"""Modes of Jobs that are to have no group; in all others one is missing, or not there yet."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """One child Job."""

    name: str
    uid: str
    generation: int
    part: str
    suspended: bool
    held: bool
    finished: str
    state: Face
    """`Held` is said apart from `Suspended`."""
    desired: int
    created: int
    ready: int
    nodes: tuple[str, ...]
    restarts: int
    mode: str
    mode_label: str
    mode_reason: str
    message: str
    """What is the matter with this Job, or empty."""
    past: bool = False
    """All of it is of the last look: its cluster does not answer now."""
    was: str = ""
    """`It was running.` when `past`, where it is known."""
    hold: str = ""
    """Name of the Hold on it, whether or not the Job is suspended."""
    held_since: datetime | None = None
    held_by: str = ""
    held_reason: str = ""
    held_until: datetime | None = None
    queue: str = ""
    queue_standing: str = ""
    """What the queue does with it by an entry of its own: waits, admitted or deactivated; empty without one."""
    actions: tuple[OfferRow, ...] = ()
    """Suspend and resume, on or off."""
    open_action: ActionRow | None = None
    """The action on it that is not over."""

    @property
    def queue_text(self) -> str:
        """How the queue stands to it, or empty: `admitted by queue gpu`."""
        begun = _IN_QUEUE.get(self.queue_standing, "")
        return f"{begun} queue {self.queue}".strip() if begun and self.queue else ""

    @property
    def queued_row(self) -> JobRow | None:
        """The Job itself when it has an entry of its own in a queue."""
        return self if self.queue_standing else None

    @property
    def held_row(self) -> JobRow | None:
        """The Job itself when a Hold is on it: for who prints the Hold as one thing."""
        return self if self.hold else None

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The nodes that are named; the rest is in `more_nodes`."""
        return self.nodes if len(self.nodes) <= SHOWN_NODES else self.nodes[: SHOWN_NODES - 1]

    @property
    def more_nodes(self) -> int:
        """How many nodes are not named."""
        return len(self.nodes) - len(self.shown_nodes)


@dataclass(frozen=True, slots=True)
class KindFact:
    """One thing that only the owner's kind knows of a gang."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class MakerRow:
    """What makes gangs such as this one: the CronJob that started a run."""

    api_group: str
    kind: str
    name: str
    uid: str
    generation: int
    suspended: bool
    sentence: str
    """When it makes the next one, or that it makes none."""
    actions: tuple[OfferRow, ...] = ()
    """Suspend and resume, on or off."""
    open_action: ActionRow | None = None
    """The action on it that is not over."""


@dataclass(frozen=True, slots=True)
class GangDetail:
    """One gang as a viewer is shown it."""

    row: GangRow
    findings: tuple[FindingRow, ...]
    jobs: tuple[JobRow, ...]
    members: tuple[MemberRow, ...]
    groups: tuple[GroupOfGangRow, ...]
    steps: tuple[StageStep, ...]
    commands: tuple[KubectlCommand, ...]
    events: tuple[EventRow, ...]
    cluster_sentence: str
    """What keeps us from looking at its cluster, or empty."""
    actions: tuple[OfferRow, ...] = ()
    """Suspend and resume of the owner, on or off; none when it is gone."""
    history: tuple[ActionRow, ...] = ()
    """The last actions on the owner and its Jobs, the newest first."""
    fit: tuple[FitShape, ...] = ()
    """Where its waiting pods could go; none when none waits for a node."""
    gang_history: GangHistory = field(default_factory=GangHistory)
    """What was said of it before, and how long it waited."""
    maker: MakerRow | None = None
    """What makes gangs such as this one; None where nothing is known that does."""
    facts: tuple[KindFact, ...] = ()
    """What only its kind knows of it, such as the runtime of a TrainJob."""
    groups_unseen: tuple[UnseenGroups, ...] = ()
    """Kinds of groups that cannot be looked at in its cluster: it may have more than `groups`."""
    gang_mode: GangMode | None = None
    """Which pods of its Jobs are in one gang, beside what was asked for; None where it makes no Jobs, and of a
    silent cluster."""
    matrix: GroupMatrix | None = None
    """Which Jobs are in which groups, where one is for several roles."""
    named: NamedObjects = field(default_factory=NamedObjects)
    """What its sentences name and the viewer may follow."""
    queue_waits: tuple[QueueWait, ...] = ()
    """Where it waits in queues, what is ahead of it, and who has what it waits for."""
    queue_page: str = ""
    """Name of the queue whose page tells of it; empty where there is none."""

    @property
    def gone_at(self) -> datetime | None:
        """When its owner was seen to be deleted; None while it is there."""
        return self.row.gone_at

    @property
    def open_action(self) -> ActionRow | None:
        """The action on the owner that is not over."""
        return _open_action(self.history, self.row.uid)

    @property
    def timeline(self) -> tuple[TimelineRow, ...]:
        """What was said of it and done to it, and where its pods were and are, the newest first."""
        places = {("Job", job.name): job.nodes for job in self.jobs}
        everywhere = {node for job in self.jobs for node in job.nodes}
        places.setdefault((self.row.kind, self.row.name), tuple(sorted(everywhere)))
        return make_timeline(
            self.history, places, self.gang_history.spans, self.gang_history.outages
        )

    @property
    def verdict(self) -> FindingRow | None:
        """The finding that decided; None when what was found does not hold any more."""
        if self.findings and self.findings[0].code == self.row.code:
            return self.findings[0]
        return None

    @property
    def no_groups(self) -> str:
        """What it means that there is no group; empty where there is one."""
        if self.groups:
            return ""
        if self.groups_unseen:
            return "No group of it is known."
        if self.gone_at is not None:
            return "None of its groups is left."
        if self._is_pod_by_pod:
            return "No PodGroup: pods are scheduled one by one."
        return "It has no group now."

    @property
    def _is_pod_by_pod(self) -> bool:
        """Whether no Job, and no pod where there are no Jobs, is meant to have a group."""
        if self.jobs:
            return all(job.mode in _WITHOUT_GROUP for job in self.jobs)
        return bool(self.members) and not any(member.group for member in self.members)

    @property
    def others(self) -> tuple[FindingRow, ...]:
        """All other findings, ranked."""
        return self.findings[1:] if self.verdict is not None else self.findings


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
                _job(job, hidden, own=gang.name),
                actions=offers.get(job.ref.uid, ()),
                open_action=_open_action(history, job.ref.uid),
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
    detail: Detail, events: Iterable[EventRow], groups: Iterable[GroupOfGangRow]
) -> Iterator[str]:
    """Yield the texts of one gang in which a controller may have named something."""
    jobs = (job.finding for job in detail.jobs if job.finding is not None)
    yield from finding_texts((*detail.findings, *jobs))
    yield from (event.note for event in events)
    yield from (group.placed.message for group in groups if group.placed is not None)


def _redact_condition(
    condition: ConditionRow | None, redactor: Redactor, hidden: tuple[ObjectRef, ...]
) -> ConditionRow | None:
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


def _open_action(history: tuple[ActionRow, ...], uid: str) -> ActionRow | None:
    return next((row for row in history if row.uid == uid and not row.is_final), None)


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
    say = kind.sentence if kind is not None else None
    return MakerRow(
        api_group=printable(ref.group),
        kind=printable(ref.kind),
        name=printable(ref.name),
        uid=ref.uid,
        generation=maker.meta.generation,
        suspended=maker.suspended,
        sentence=printable(say(maker)) if say is not None else "",
        actions=offers.get(ref.uid, ()),
        open_action=_open_action(history, ref.uid),
    )


def _job(job: JobState, hidden: tuple[ObjectRef, ...], *, own: str) -> JobRow:
    return JobRow(
        name=printable(job.ref.name),
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
        message=printable(redact(job.finding.message, hidden, own=own)) if job.finding else "",
        hold=printable(job.hold),
        held_since=job.held_since,
        held_by=printable(job.held_by),
        held_reason=printable(job.held_reason),
        held_until=job.held_until,
        queue=printable(job.queue),
        queue_standing=job.queue_standing,
    )


def _job_then(job: JobRow) -> JobRow:
    """Return a Job as it was at the last look: what was the matter with it stands in the findings."""
    state = face_of(Health.UNKNOWN)
    return replace(job, state=state, past=True, was=past_sentence(job.state.word), message="")
