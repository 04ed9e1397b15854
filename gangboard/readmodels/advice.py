"""Advice for one reader, ordered by harm, with the cost of each gang that a step would stop.

Advice is stored with the verdict. The state of other gangs is read for each page, limited to gangs that the
viewer may see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from gangboard.domain.text import count
from gangboard.facts.stored_verdict import is_whole
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import age_text, printable
from gangboard.readmodels.state_labels import face_of
from gangboard.readmodels.time_to_start import TypicalWait
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_advice
from gangboard.store.models import Cluster, Gang
from gangboard.store.uid_lookups import Reference, follow

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

    @property
    def whole(self) -> bool:
        """Whether it runs whole."""
        return self.health == Health.RUNNING

    @property
    def state(self) -> str:
        """The words before the time: `runs`, `degraded for`."""
        return "runs" if self.whole else f"{face_of(self.health).label.lower()} for"

    @property
    def facts(self) -> str:
        """All behind the time: `4 of 4 ready, namespace team-infra, same priority`."""
        parts = [f"{self.ready} of {self.desired} ready", f"namespace {self.namespace}"]
        parts.append(self.compared or f"priority {self.priority}")
        if self.others and self.compared:
            parts.append(f"also advised to {count(self.others, 'other gang')}")
        elif self.others:
            parts.append(f"advised to {count(self.others, 'waiting gang')}")
        return ", ".join(parts)

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
        "What it costs, and whom. Steps come in this order.",
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
        "Other gangs that it would stop, as far as the caller may see them.",
        default=(),
    )
    read_at: datetime | None = field(default=None, compare=False)
    """For the ages in `sentence`. Equal steps say the same but for a clock."""

    @property
    def stops_whole_gangs(self) -> bool:
        """Whether it is of the last group."""
        return self.harm is Harm.WHOLE_GANGS

    @property
    def step(self) -> str:
        """The text with its note and the command at its end."""
        text = f"{self.text} {self.note}".rstrip()
        if not self.command:
            return text
        return f"{text.removesuffix('.')}: {command_line(self.command)}"

    @property
    def sentence(self) -> str:
        """The step and its cost."""
        if not self.victims or self.read_at is None:
            return self.sentence_without_ages
        costs = "; ".join(one.cost(self.read_at) for one in self.victims)
        return f"{self.step} Cost: {costs}."

    @property
    def sentence_without_ages(self) -> str:
        """The step and its cost, without ages."""
        if not self.victims:
            return self.step
        costs = "; ".join(f"{one.name}, {one.facts}" for one in self.victims)
        return f"{self.step} Cost: {costs}."


Victims = Mapping[Reference, Gang]


def read_victims(
    advised: Iterable[tuple[int, Iterable[AdvisedStep]]], *, viewer: Viewer
) -> Victims:
    """Return the living gangs that steps would stop, of those that the viewer may see (at most 1 query).

    `advised`: cluster and the steps that are advised there.
    """
    references = {
        Reference(cluster_id, ref.namespace, ref.uid)
        for cluster_id, steps in advised
        for step in steps
        if step.kind in STOPPING
        for ref in step.objects
    }
    return follow(_living(viewer), references)


def _living(viewer: Viewer) -> QuerySet[Gang]:
    """Return the living gangs that the viewer may see, with the columns of a victim."""
    return Gang.objects.filter(viewer.gang_filter(), gone_at=None).only(
        *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "health", "stage"),
        *("code", "since", "ready", "desired", "priority_value"),
    )


def build_steps(
    steps: Iterable[AdvisedStep], gang: Gang, victims: Victims, *, now: datetime
) -> tuple[AdviceStepRow, ...]:
    """Return the steps about a gang, the least harm first, and of what stops gangs the lowest priority first."""

    def place(one: AdviceStepRow) -> tuple[int, int]:
        return one.harm.rank, max((victim.priority for victim in one.victims), default=0)

    shown = sorted((_shown(step, gang, victims, now) for step in steps), key=place)
    if shown and shown[0].stops_whole_gangs:
        # An older release stored such steps, and a victim can have become whole since.
        wait = "Wait for room to become free."
        shown.insert(0, harmless_step(wait, AdviceKind.WAIT_FOR_ROOM.value))
    return tuple(shown)


def harmless_step(text: str, kind: str = "") -> AdviceStepRow:
    """Return a sentence as a step without harm."""
    return AdviceStepRow(text=text, kind=kind, harm=Harm.NOTHING)


def _shown(step: AdvisedStep, gang: Gang, victims: Victims, now: datetime) -> AdviceStepRow:
    harm = harm_of(step.kind)
    found = []
    if step.kind in STOPPING:
        stored = (
            victims.get(Reference(gang.cluster_id, ref.namespace, ref.uid)) for ref in step.objects
        )
        others = [one for one in stored if one is not None and one.uid != gang.uid]
        # They can have come together, or apart, since the step was worked out.
        if any(is_whole(one.stage, one.code) for one in others):
            harm = Harm.WHOLE_GANGS
        elif others and len(others) == len(step.objects):
            harm = Harm.BROKEN_GANGS
        found = [victim_of(one, gang) for one in others]
    return AdviceStepRow(
        text=printable(step.text),
        kind=step.kind.value,
        harm=harm,
        command=step.command,
        objects=step.objects,
        victims=tuple(found),
        read_at=now,
    )


def victim_of(stored: Gang, advised: Gang | None) -> StoppedGang:
    """Return the cost of stopping a gang, compared with the waiting gang."""
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
    word = "lower" if theirs < ours else "higher"
    return f"{word} priority ({theirs}, not {ours})"


# What only the page of one gang reads


def with_counts(
    steps: Iterable[AdviceStepRow], counts: Mapping[str, int]
) -> tuple[AdviceStepRow, ...]:
    """Return the steps, each victim with how many other gangs are advised to stop it."""
    return tuple(
        replace(
            step,
            victims=tuple(replace(one, others=counts.get(one.uid)) for one in step.victims),
        )
        for step in steps
    )


def count_advised(
    uids: Iterable[str], *, cluster_id: int, viewer: Viewer, but: str = ""
) -> dict[str, int]:
    """Return uid of a gang → living gangs that are advised to stop it (1 query; none without uids)."""
    wanted = set(uids) - {""}
    if not wanted:
        return {}
    named = Q()
    for uid in wanted:
        named |= Q(written__contains=uid)
    rows = (
        Gang.objects.filter(viewer.gang_filter(), cluster_id=cluster_id, gone_at=None)
        .annotate(written=Cast("advice", TextField()))
        .filter(named)
        .exclude(pk=but)
        .values_list("uid", "advice")
    )
    counts = dict.fromkeys(wanted, 0)
    for own, advice in rows:
        stopped = {
            ref.uid
            for step in unpack_advice(advice)
            if step.kind in STOPPING
            for ref in step.objects
        }
        for uid in (stopped & wanted) - {own}:
            counts[uid] += 1
    return counts


def with_typical_wait(
    steps: Iterable[AdviceStepRow], typical: TypicalWait | None
) -> tuple[AdviceStepRow, ...]:
    """Return the steps, the one to wait for room with how long gangs like it waited."""
    if typical is None:
        return tuple(steps)
    note = typical_text(typical)
    return tuple(
        replace(step, note=note) if step.kind == AdviceKind.WAIT_FOR_ROOM else step
        for step in steps
    )


def typical_text(typical: TypicalWait) -> str:
    """Return `Typical wait: 12 min.`, or that it is unknown and why."""
    if typical.median_seconds is not None:
        return f"Typical wait: {typical.text}."
    if not typical.cases:
        return "Typical wait: unknown, no similar gang has run yet."
    return f"Typical wait: unknown, only {count(typical.cases, 'similar gang')} ran yet."


# What a confirmation says


def costs_of(targets: Iterable[ActionTarget], *, viewer: Viewer) -> tuple[StoppedGang, ...]:
    """Return what the end of each gang costs that runs now and would be suspended whole (2 queries, and 1 a cluster)."""
    wanted = tuple(targets)
    ids = dict(
        Cluster.objects.filter(
            viewer.cluster_filter(), name__in={one.cluster for one in wanted}
        ).values_list("name", "pk")
    )
    references = {
        Reference(ids[one.cluster], one.namespace, one.uid) for one in wanted if one.cluster in ids
    }
    gangs = [one for one in follow(_living(viewer), references).values() if one.ready]
    found: list[StoppedGang] = []
    for cluster_id in {one.cluster_id for one in gangs}:
        here = [one for one in gangs if one.cluster_id == cluster_id]
        counts = count_advised((one.uid for one in here), cluster_id=cluster_id, viewer=viewer)
        found += [replace(victim_of(one, None), others=counts.get(one.uid)) for one in here]
    return tuple(sorted(found, key=lambda one: (one.namespace, one.name)))
