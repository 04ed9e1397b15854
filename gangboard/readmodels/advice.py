"""Advice for one viewer, ordered by harm, with the cost of each gang that a step would stop.

Advice is stored with the verdict. The state of other gangs is read for each page, if the viewer may see them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from gangboard.domain.action import ActionTarget
from gangboard.domain.advice import AdviceKind, AdvisedStep, Harm, harm_of
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.shell import command_line
from gangboard.domain.text import count, names, natural_key
from gangboard.facts.stored_verdict import is_whole
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import age_text, printable
from gangboard.readmodels.state_labels import face_of
from gangboard.readmodels.time_to_start import TypicalWait
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import find_gangs
from gangboard.store.gangs import unpack_advice, unpack_detail
from gangboard.store.models import Cluster, Gang
from gangboard.store.uid_lookups import Reference, resolve_references

STOPPING = frozenset({AdviceKind.SUSPEND_BROKEN, AdviceKind.SUSPEND_GANGS})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedGang:
    """Another gang that a step would stop, as it is now."""

    json_name: ClassVar[str] = "Victim"

    gang_id: str = shown("Gang", "Its id.", api_name="gang")
    api_group: str = shown("API group")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    uid: str = shown("UID")
    health: str = shown("Health", choices=Health)
    since: datetime = shown("Since", "Since when its verdict has been this one.")
    ready: int = shown("Ready", "Pods that are ready.")
    desired: int = shown("Desired", "Pods that its owner asks for.")
    priority: int = shown("Priority")
    compared: str
    """Its priority compared with that of the waiting gang, in words. Empty if there is no waiting gang."""
    others: int | None = shown(
        "Also advised to",
        "Other gangs that are advised to stop it; null in lists.",
        api_name="also_advised_to",
        default=None,
    )
    stopped_jobs: str = ""
    """The Jobs that an action would stop, such as `Job moe-serve-0`. Empty if it would stop the whole gang."""

    @property
    def whole(self) -> bool:
        """Whether it runs whole."""
        return self.health == Health.RUNNING

    @property
    def state(self) -> str:
        """The words before the age: `runs`, `degraded for`."""
        return "runs" if self.whole else f"{face_of(self.health).label.lower()} for"

    @property
    def facts(self) -> str:
        """The facts after the age: `4 of 4 ready, namespace team-infra, same priority`."""
        facts = [f"{self.ready} of {self.desired} ready", f"namespace {self.namespace}"]
        facts.append(self.compared or f"priority {self.priority}")
        if self.others and self.compared:
            facts.append(f"also advised to {count(self.others, 'other gang')}")
        elif self.others:
            facts.append(f"advised to {count(self.others, 'waiting gang')}")
        return ", ".join(facts)

    @property
    def loss(self) -> str:
        """A sentence if the gang runs whole and only some of its Jobs would stop. Else empty."""
        if not self.stopped_jobs or not self.whole:
            return ""
        return f"Without {self.stopped_jobs} it will not be whole."

    def cost(self, now: datetime) -> str:
        """Return `moe-serve runs 9 d, 4 of 4 ready, namespace team-infra, same priority`."""
        return f"{self.name} {self.state} {age_text(self.since, now)}, {self.facts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceStepRow:
    """One step of advice: its sentence, and as fields what carries it out."""

    json_name: ClassVar[str] = "NextStep"

    text: str = shown("Step", "The sentence without the command.")
    kind: str = shown("Kind", "What it is about, such as `uncordon`.")
    command: tuple[str, ...] = shown(
        "Command", "Words of a command, each safe in a shell; empty without one.", default=()
    )
    objects: tuple[ObjectRef, ...] = shown(
        "Objects",
        "What it acts on: nodes, gangs or Jobs; empty if it does not name all.",
        default=(),
    )
    harm: Harm = shown(
        "Harm",
        "What it costs, and which gangs. Steps come in this order.",
        choices=Harm,
    )
    note: str = shown(
        "Note",
        "A sentence behind the text, such as the typical wait.",
        empty_is_null=True,
        default="",
    )
    victims: tuple[StoppedGang, ...] = shown(
        "Cost",
        "Other gangs that it would stop and that the caller may see.",
        default=(),
    )
    read_at: datetime | None = field(default=None, compare=False)
    """The time for the ages in `sentence`. Comparisons ignore it."""

    @property
    def stops_whole_gangs(self) -> bool:
        """Whether it stops gangs that run whole."""
        return self.harm is Harm.WHOLE_GANGS

    @property
    def step(self) -> str:
        """The text, followed by its note and the command."""
        text = f"{self.text} {self.note}".rstrip()
        if not self.command:
            return text
        return f"{text.removesuffix('.')}: {command_line(self.command)}"

    @property
    def sentence(self) -> str:
        """The step and its cost."""
        if not self.victims or self.read_at is None:
            return self.sentence_without_ages
        costs = "; ".join(victim.cost(self.read_at) for victim in self.victims)
        return f"{self.step} Cost: {costs}."

    @property
    def sentence_without_ages(self) -> str:
        """The step and its cost, without ages."""
        if not self.victims:
            return self.step
        costs = "; ".join(f"{victim.name}, {victim.facts}" for victim in self.victims)
        return f"{self.step} Cost: {costs}."


Victims = Mapping[Reference, Gang]


def read_victims(
    advised: Iterable[tuple[int, Iterable[AdvisedStep]]], *, viewer: Viewer
) -> Victims:
    """Return the existing gangs that steps would stop and the viewer may see (at most 1 query).

    `advised` are pairs of a cluster id and the steps advised there.
    """
    references = {
        Reference(cluster_id, ref.namespace, ref.uid)
        for cluster_id, steps in advised
        for step in steps
        if step.kind in STOPPING
        for ref in step.objects
    }
    return resolve_references(_living(viewer), references)


def _living(viewer: Viewer) -> QuerySet[Gang]:
    """Return the existing gangs that the viewer may see, with the columns of a StoppedGang."""
    return Gang.objects.filter(viewer.gang_filter(), gone_at=None).only(
        *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "health", "stage"),
        *("code", "since", "ready", "desired", "priority_value"),
    )


def build_steps(
    steps: Iterable[AdvisedStep], gang: Gang, victims: Victims, *, now: datetime
) -> tuple[AdviceStepRow, ...]:
    """Return the steps about a gang, the least harm first.

    Steps with the same harm are sorted by the highest priority of the gangs that they stop, the lowest first.
    """

    def sort_key(step_row: AdviceStepRow) -> tuple[int, int]:
        return step_row.harm.rank, max((victim.priority for victim in step_row.victims), default=0)

    built = sorted((_build_step(step, gang, victims, now) for step in steps), key=sort_key)
    if built and built[0].stops_whole_gangs:
        # Older releases stored such steps. Also, a victim can have become whole in the meantime.
        wait = "Wait for capacity to become free."
        built.insert(0, harmless_step(wait, AdviceKind.WAIT_FOR_ROOM.value))
    return tuple(built)


def harmless_step(text: str, kind: str = "") -> AdviceStepRow:
    """Return a sentence as a step without harm."""
    return AdviceStepRow(text=text, kind=kind, harm=Harm.NOTHING)


def _build_step(step: AdvisedStep, gang: Gang, victims: Victims, now: datetime) -> AdviceStepRow:
    harm = harm_of(step.kind)
    victims_of_step = []
    if step.kind in STOPPING:
        stored = (
            victims.get(Reference(gang.cluster_id, ref.namespace, ref.uid)) for ref in step.objects
        )
        stored_gangs = [
            victim for victim in stored if victim is not None and victim.uid != gang.uid
        ]
        if {ref.uid for ref in step.objects} == {gang.uid}:
            harm = Harm.OWN_GANG
        # The gangs can have become whole, or broken, since the step was computed.
        elif any(is_whole(victim.stage, victim.code) for victim in stored_gangs):
            harm = Harm.WHOLE_GANGS
        elif stored_gangs and len(stored_gangs) == len(step.objects):
            harm = Harm.BROKEN_GANGS
        victims_of_step = [victim_of(victim, gang) for victim in stored_gangs]
    return AdviceStepRow(
        text=printable(step.text),
        kind=step.kind.value,
        harm=harm,
        command=step.command,
        objects=step.objects,
        victims=tuple(victims_of_step),
        read_at=now,
    )


def victim_of(stored: Gang, advised: Gang | None) -> StoppedGang:
    """Return a stopped gang, compared with the waiting gang if there is one."""
    priority = stored.priority_value or 0
    return StoppedGang(
        gang_id=stored.pk,
        api_group=printable(stored.api_group),
        kind=printable(stored.kind),
        namespace=printable(stored.namespace),
        name=printable(stored.name),
        uid=stored.uid,
        health=stored.health,
        since=stored.since,
        ready=stored.ready,
        desired=stored.desired,
        priority=priority,
        compared="" if advised is None else _compared(priority, advised.priority_value or 0),
    )


def _compared(theirs: int, ours: int) -> str:
    if theirs == ours:
        return "same priority"
    comparison = "lower" if theirs < ours else "higher"
    return f"{comparison} priority ({theirs}, not {ours})"


# Advice on the Gang page


def with_counts(
    steps: Iterable[AdviceStepRow], counts: Mapping[str, int]
) -> tuple[AdviceStepRow, ...]:
    """Return the steps. Each victim gets the number of other gangs that are advised to stop it."""
    return tuple(
        replace(
            step,
            victims=tuple(
                replace(victim, others=counts.get(victim.uid)) for victim in step.victims
            ),
        )
        for step in steps
    )


def count_advised(
    uids: Iterable[str], *, cluster_id: int, viewer: Viewer, but: str = ""
) -> dict[str, int]:
    """Return uid of a gang → number of existing gangs that are advised to stop it (1 query, none without uids)."""
    requested = set(uids) - {""}
    if not requested:
        return {}
    named = Q()
    for uid in requested:
        named |= Q(written__contains=uid)
    rows = (
        Gang.objects.filter(viewer.gang_filter(), cluster_id=cluster_id, gone_at=None)
        .annotate(written=Cast("advice", TextField()))
        .filter(named)
        .exclude(pk=but)
        .values_list("uid", "advice")
    )
    counts = dict.fromkeys(requested, 0)
    for own, advice in rows:
        stopped = {
            ref.uid
            for step in unpack_advice(advice)
            if step.kind in STOPPING
            for ref in step.objects
        }
        for uid in (stopped & requested) - {own}:
            counts[uid] += 1
    return counts


def with_typical_wait(
    steps: Iterable[AdviceStepRow], typical: TypicalWait | None
) -> tuple[AdviceStepRow, ...]:
    """Return the steps. The step to wait for room gets the typical wait of similar gangs as its note."""
    if typical is None:
        return tuple(steps)
    note = typical_text(typical)
    return tuple(
        replace(step, note=note) if step.kind == AdviceKind.WAIT_FOR_ROOM else step
        for step in steps
    )


def typical_text(typical: TypicalWait) -> str:
    """Return `Typical wait: 12 min.`, or why it is unknown."""
    if typical.median_seconds is not None:
        return f"Typical wait: {typical.text}."
    if not typical.cases:
        return "Typical wait: unknown, no similar gang has run yet."
    return f"Typical wait: unknown, only {count(typical.cases, 'similar gang')} ran yet."


# Costs in a confirmation


def costs_of(targets: Iterable[ActionTarget], *, viewer: Viewer) -> tuple[StoppedGang, ...]:
    """Return the running gangs that an action on these owners and Jobs would stop, as a whole or in part.

    This takes about 5 queries, and 1 per cluster.
    """
    listed = tuple(targets)
    ids = dict(
        Cluster.objects.filter(
            viewer.cluster_filter(), name__in={target.cluster for target in listed}
        ).values_list("name", "pk")
    )
    gangs = find_gangs(
        Reference(ids[target.cluster], target.namespace, target.uid)
        for target in listed
        if target.cluster in ids
    )
    visible = _living(viewer).filter(pk__in={gang.pk for gang in gangs.values()})
    visible_ids = set(visible.values_list("pk", flat=True))
    uids: dict[str, set[str]] = defaultdict(set)
    running: dict[str, Gang] = {}
    for reference, gang in gangs.items():
        if gang.pk in visible_ids and gang.ready:
            running[gang.pk] = gang
            uids[gang.pk].add(reference.uid)
    whole = [gang for gang in running.values() if gang.uid in uids[gang.pk]]
    counts: dict[str, int] = {}
    for cluster_id in {gang.cluster_id for gang in whole}:
        counts |= count_advised(
            (gang.uid for gang in whole if gang.cluster_id == cluster_id),
            cluster_id=cluster_id,
            viewer=viewer,
        )
    costs = [
        replace(
            victim_of(gang, None),
            others=counts.get(gang.uid),
            stopped_jobs="" if gang in whole else _jobs_text(gang, uids[gang.pk]),
        )
        for gang in running.values()
    ]
    return tuple(sorted(costs, key=lambda cost: (cost.namespace, cost.name)))


def _jobs_text(gang: Gang, uids: Collection[str]) -> str:
    """Return `Job moe-serve-0` or `Jobs a, b and 5 more` for Jobs of a gang."""
    jobs = [job.ref for job in unpack_detail(bytes(gang.detail)).jobs if job.ref.uid in uids]
    if not jobs:
        return count(len(uids), "part")
    noun = jobs[0].kind if len(jobs) == 1 else f"{jobs[0].kind}s"
    return f"{noun} {printable(names(sorted((job.name for job in jobs), key=natural_key)))}"
