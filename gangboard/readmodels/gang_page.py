"""One gang with everything that explains it: the Gang page and `GET gangs/{id}/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Finding, JobState, MemberState
from gangboard.readmodels.discretion import Discretion, unnamed
from gangboard.readmodels.events import EventRow, recent_events
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.gangs import GangRow, build_row
from gangboard.readmodels.groups import GroupRow, groups_by_uid
from gangboard.readmodels.kubectl import Command, commands_for
from gangboard.readmodels.printable import printable
from gangboard.readmodels.words import STAGE_LABELS, Face, face_of
from gangboard.store.access import Viewer
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Gang

BLOCK = 64
"""Squares of the member grid that are drawn, and replaced, together."""
GLANCE = 32
"""Characters of evidence that can be taken in at a glance."""
SHOWN_NODES = 4
"""Nodes of a Job that are named before the rest is counted."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One fact behind a sentence."""

    label: str
    value: str
    source: ObjectRef | None
    """None when it has none, or one that the viewer may not see."""

    @property
    def is_long(self) -> bool:
        """Whether it is a text to read, not a number or name to see at a glance."""
        return len(self.value) > GLANCE


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One of the findings about a gang; the first decided its verdict."""

    code: str
    health: str
    face: Face
    stage: str
    title: str
    message: str
    unit: str
    advice: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]
    symptom: bool
    since: datetime | None


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

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The nodes that are named; the rest is in `more_nodes`."""
        return self.nodes if len(self.nodes) <= SHOWN_NODES else self.nodes[: SHOWN_NODES - 1]

    @property
    def more_nodes(self) -> int:
        """How many nodes are not named."""
        return len(self.nodes) - len(self.shown_nodes)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One pod."""

    name: str
    uid: str
    job: str
    group: str
    node: str
    health: str
    face: Face
    label: str
    reason: str

    @property
    def sentence(self) -> str:
        """Everything about the square, for a tooltip and for who cannot see it."""
        where = f" on {self.node}" if self.node else ""
        return f"{self.name}: {self.label}{where}" + (f" – {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class MemberBlock:
    """Squares in a row: pods of one Job, at most BLOCK of them."""

    key: str
    """Unique within the gang; part of an element's id."""
    job: str
    """Empty in the second and later blocks of the same Job."""
    ready: int
    pods: int
    """Ready and all pods of the Job, given with its first block."""
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One of the five steps of a gang."""

    stage: str
    label: str
    state: str
    """done, here, ahead or unknown."""
    face: Face | None
    """Of the step where the gang is."""
    note: str

    @property
    def state_label(self) -> str:
        """The state in words, for who cannot see the line."""
        return {"done": "done", "here": "now", "ahead": "not yet", "unknown": "not known"}[
            self.state
        ]


@dataclass(frozen=True, slots=True)
class GangDetail:
    """One gang as a viewer is shown it."""

    row: GangRow
    findings: tuple[FindingRow, ...]
    jobs: tuple[JobRow, ...]
    members: tuple[MemberRow, ...]
    groups: tuple[GroupRow, ...]
    steps: tuple[Step, ...]
    commands: tuple[Command, ...]
    events: tuple[EventRow, ...]
    cluster_sentence: str
    """What keeps us from looking at its cluster, or empty."""

    @property
    def verdict(self) -> FindingRow | None:
        """The finding that decided; None when what was found does not hold any more."""
        if self.findings and self.findings[0].code == self.row.code:
            return self.findings[0]
        return None

    @property
    def others(self) -> tuple[FindingRow, ...]:
        """All other findings, ranked."""
        return self.findings[1:] if self.verdict is not None else self.findings

    @property
    def blocks(self) -> tuple[MemberBlock, ...]:
        """The member grid."""
        return _blocks(self.members)


def gang_detail(*, viewer: Viewer, gang_id: str, now: datetime) -> GangDetail | None:
    """Return one gang, or None when there is none or the viewer may not see it.

    A gang whose owner was deleted is returned while its row is kept, with `row.gone_at`.
    """
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    gang = Gang.objects.filter(viewer.gang_filter(), pk=gang_id).first()
    if gang is None:
        return None
    clusters = read_freshness(viewer=viewer, now=now)
    cluster = clusters.get(gang.cluster_id)
    if cluster is None:
        return None
    detail = unpack_detail(bytes(gang.detail))
    nodes = frozenset(member.node for member in detail.members if member.node)
    discretion = Discretion(viewer, gang.cluster_id, nodes)
    hidden = discretion.hidden_refs(detail.findings)
    row = build_row(gang, viewer=viewer, clusters=clusters, now=now)
    return GangDetail(
        row=row,
        findings=tuple(_finding(discretion.finding(item, hidden)) for item in detail.findings),
        jobs=tuple(_job(job, hidden) for job in detail.jobs),
        members=tuple(_member(member) for member in detail.members),
        groups=_groups(detail, gang, viewer, clusters),
        steps=_steps(row),
        commands=commands_for(row),
        events=recent_events(gang=gang, detail=detail, viewer=viewer),
        cluster_sentence=cluster.sentence,
    )


def _finding(finding: Finding) -> FindingRow:
    return FindingRow(
        code=printable(finding.code),
        health=finding.health.value,
        face=face_of(finding.health),
        stage=finding.stage.value,
        title=printable(finding.title),
        message=printable(finding.message),
        unit=printable(finding.unit),
        advice=tuple(printable(text) for text in finding.advice),
        evidence=tuple(
            EvidenceRow(printable(item.label), printable(item.value), item.source)
            for item in finding.evidence
        ),
        symptom=finding.symptom,
        since=finding.since,
    )


def _job(job: JobState, hidden: tuple[ObjectRef, ...]) -> JobRow:
    state = face_of(_job_health(job))
    if job.held and not job.finished:
        state = replace(state, word="held", label="Held")
    return JobRow(
        name=printable(job.ref.name),
        uid=job.ref.uid,
        generation=job.generation,
        part=printable(job.part) if job.part != job.ref.name else "",
        suspended=job.suspended,
        held=job.held,
        finished=job.finished,
        state=state,
        desired=job.desired,
        created=job.created,
        ready=job.ready,
        nodes=tuple(printable(node) for node in job.nodes),
        restarts=job.restarts,
        mode=printable(job.scheduling.mode),
        mode_label=printable(job.scheduling.label),
        mode_reason=printable(job.scheduling.reason),
        message=printable(unnamed(job.finding.message, hidden)) if job.finding else "",
    )


def _job_health(job: JobState) -> str:
    """Return the state of one Job: its end, its hold, else what was found, else its pods."""
    if job.finished:
        return job.finished
    if job.held or job.suspended:
        return Health.SUSPENDED
    if job.finding is not None:
        return job.finding.health
    return Health.RUNNING if job.ready >= job.desired else Health.STARTING


def _member(member: MemberState) -> MemberRow:
    return MemberRow(
        name=printable(member.ref.name),
        uid=member.ref.uid,
        job=printable(member.job),
        group=printable(member.group),
        node=printable(member.node),
        health=member.state.value,
        face=face_of(member.state),
        label=printable(member.label),
        reason=printable(member.reason),
    )


def _groups(
    detail: Detail, gang: Gang, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> tuple[GroupRow, ...]:
    uids = [ref.uid for ref in detail.groups]
    if not uids:
        return ()
    return groups_by_uid(uids, cluster_id=gang.cluster_id, viewer=viewer, clusters=clusters)


def _blocks(members: Iterable[MemberRow]) -> tuple[MemberBlock, ...]:
    jobs: dict[str, list[MemberRow]] = {}
    for member in members:
        jobs.setdefault(member.job, []).append(member)
    blocks: list[MemberBlock] = []
    for number, (job, pods) in enumerate(jobs.items()):
        ready = sum(member.health == Health.RUNNING for member in pods)
        for start in range(0, len(pods), BLOCK):
            squares = tuple(pods[start : start + BLOCK])
            first = start == 0
            blocks.append(
                MemberBlock(
                    key=f"{number}-{start // BLOCK}",
                    job=(job or "no Job") if first else "",
                    ready=ready if first else 0,
                    pods=len(pods) if first else 0,
                    members=squares,
                )
            )
    return tuple(blocks)


def _steps(row: GangRow) -> tuple[Step, ...]:
    """Return the five steps: passed, where it is, ahead; all unknown when we could not look."""
    position = {stage.value: stage.position for stage in Stage}.get(row.stage, 0)
    blind = row.health == Health.UNKNOWN
    over = row.health in (Health.RUNNING, Health.SUCCEEDED)
    notes = _notes(row)
    steps = []
    for stage in Stage:
        step = Step(stage.value, STAGE_LABELS[stage], "ahead", None, notes.get(stage, ""))
        if blind:
            step = replace(step, state="unknown", note="")
        elif stage.position < position or (over and stage.position == position):
            step = replace(step, state="done")
        elif stage.position == position:
            step = replace(step, state="here", face=row.face)
        steps.append(step if step.state != "ahead" else replace(step, note=""))
    return tuple(steps)


def _notes(row: GangRow) -> dict[Stage, str]:
    """Return the numbers under the steps."""
    members = row.members
    wanted = members.desired - members.held
    return {
        Stage.ADMISSION: f"queue {row.queue}" if row.queue else "",
        Stage.FORMATION: f"{members.created} of {wanted} pods",
        Stage.PLACEMENT: f"{members.scheduled} of {wanted}",
        Stage.START: f"{members.ready + members.succeeded} of {wanted} ready",
        Stage.RUN: row.title,
    }
