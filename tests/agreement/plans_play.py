"""Plans on a real cluster: made from the served objects, carried out step by step, and compared with what runs then."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.cluster_plan import (
    ClusterPlan,
    MovablePod,
    PlanStep,
    PlanStepKind,
)
from gangboard.domain.group import Group
from gangboard.domain.node import Node
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.gang import Gang
from gangboard.facts.stored_verdict import is_whole
from gangboard.placement.cluster_plan import make_plan, waiting_gang_of
from gangboard.placement.members import shape_of
from gangboard.placement.plan_budget import SearchBudget
from gangboard.plugins.registry import owner_kinds
from gangboard.polling.node_usage import NodeUsageTracker
from tests.agreement import objects
from tests.agreement.arena import GANGS, Arena
from tests.agreement.jobs import BATCH
from tests.agreement.ours import GROUPS
from tests.agreement.plans import PlanCase, job_objects, node_objects, placed_objects
from tests.controlplane.client import ApiError, Client, Json, WaitError, wait
from tests.controlplane.nodes import make_nodes
from tests.decode.reading import model
from tests.gangs import assemble

AT_ONCE = 15
"""Clusters that play together."""
SPEAK_SECONDS = 60.0
SETTLE_SECONDS = 4.0
RUNS_WITHIN_SECONDS = 45.0
"""A refused gang is tried again within ten seconds, on a busy machine later."""
_JOBS = next(kind.resource for kind in owner_kinds() if kind.resource.key == "jobs.batch")
_JOB_NAME = "batch.kubernetes.io/job-name"
_CORDON = "node.kubernetes.io/unschedulable"


class PlanEnd(StrEnum):
    """What became of a plan."""

    KEPT = "every promised gang runs"
    BROKEN = "a promised gang does not run"
    NO_PROMISE = "no step promises a gang"


@dataclass(frozen=True)
class PlanOutcome:
    """One cluster, its plan, and what became of it."""

    case: PlanCase
    plan: ClusterPlan
    end: PlanEnd
    words: str = ""

    @property
    def kinds(self) -> tuple[PlanStepKind, ...]:
        """The kinds of its steps."""
        return tuple(step.kind for step in self.plan.steps)

    @property
    def promised(self) -> int:
        """Number of the gangs that its steps promise."""
        return sum(step.gang_count for step in self.plan.steps)


def play(arena: Arena, cases: Sequence[PlanCase]) -> Iterator[PlanOutcome]:
    """Play the cases, some at a time."""
    for start in range(0, len(cases), AT_ONCE):
        stage = PlanStage(arena)
        try:
            yield from stage.play(cases[start : start + AT_ONCE])
        finally:
            stage.clear()


class PlanStage:
    """Makes clusters in an arena, and carries out their plans."""

    def __init__(self, arena: Arena) -> None:
        """Work in this arena."""
        self._arena, self._client = arena, arena.client

    def play(self, cases: Sequence[PlanCase]) -> list[PlanOutcome]:
        """Make the clusters, wait for the scheduler, and carry out each plan."""
        ns, run = self._arena.namespace, self._arena.run
        make_nodes(self._client, [item for case in cases for item in node_objects(case, run)])
        for case in cases:
            self._client.create_all(placed_objects(case, ns, run))
        for case in cases:
            self._client.create_all(job_objects(case, case.first, ns, run))
        self._wait_spoken(
            {case.named(gang.name): gang.pods for case in cases for gang in case.first}
        )
        for case in cases:
            self._client.create_all(job_objects(case, case.gangs, ns, run))
        self._wait_spoken(
            {case.named(gang.name): gang.pods for case in cases for gang in case.gangs}
        )
        with ThreadPoolExecutor(5) as pool:
            return list(pool.map(self._carried_out, cases))

    def _wait_spoken(self, pods: dict[str, int]) -> None:
        """Wait until each pod of these Jobs (name → pods) has a node or was refused."""

        def spoken() -> bool:
            counts = Counter(
                item["metadata"]["labels"].get(_JOB_NAME, "")
                for item in self._pods()
                if item["spec"].get("nodeName") or _was_refused(item)
            )
            return all(counts[name] >= number for name, number in pods.items())

        wait(spoken, timeout=SPEAK_SECONDS, every=0.5, what=f"the scheduler to try {sorted(pods)}")
        time.sleep(SETTLE_SECONDS)

    def _pods(self, labels: str = "") -> list[Json]:
        found = self._client.list("v1", "Pod", self._arena.namespace, labels=labels or objects.RUN)
        return [item for item in found if "deletionTimestamp" not in item["metadata"]]

    # Carrying out

    def _carried_out(self, case: PlanCase) -> PlanOutcome:
        plan = PlanReading(self._client, self._arena.namespace, case).plan()
        promised: Counter[tuple[str, ...]] = Counter()
        done: list[str] = []
        try:
            for step in plan.steps:
                if step.kind is PlanStepKind.STOP_WHOLE:
                    break
                self._take(step)
                done.append(step.kind)
                for gain in step.gains:
                    promised[tuple(sorted(ref.name for ref in gain.gangs))] += gain.count
                self._wait_promised(case, promised)
        except (ApiError, WaitError) as error:
            words = f"after {done}: {error}; {plan}; {case}"
            return PlanOutcome(case, plan, PlanEnd.BROKEN, words)
        return PlanOutcome(case, plan, PlanEnd.KEPT if promised else PlanEnd.NO_PROMISE)

    def _take(self, step: PlanStep) -> None:
        """Carry out one step as its sentence says."""
        nodes = [ref.name for ref in step.nodes]
        if step.kind is PlanStepKind.UNCORDON:
            self._cordon(nodes, on=False)
        elif step.kind is PlanStepKind.REMOVE_TAINT:
            for name in nodes:
                found = self._client.get("v1", "Node", name)
                taints = [
                    taint
                    for taint in found["spec"].get("taints", ())
                    if step.taint is None or taint["key"] != step.taint.key
                ]
                self._client.patch("v1", "Node", name, {"spec": {"taints": taints}})
        elif step.kind is PlanStepKind.END_INCOMPLETE:
            for ref in step.gangs:
                self._client.patch(
                    BATCH, "Job", ref.name, {"spec": {"suspend": True}}, ref.namespace
                )
        elif step.kind is PlanStepKind.MOVE_PODS:
            self._move(step, nodes)

    def _cordon(self, nodes: Sequence[str], *, on: bool) -> None:
        for name in nodes:
            self._client.patch("v1", "Node", name, {"spec": {"unschedulable": on or None}})

        def settled() -> bool:
            found = [self._client.get("v1", "Node", name) for name in nodes]
            return all(
                any(taint["key"] == _CORDON for taint in item["spec"].get("taints", ())) is on
                for item in found
            )

        wait(settled, what=f"the cordon taint of {nodes}")

    def _move(self, step: PlanStep, nodes: Sequence[str]) -> None:
        self._cordon(nodes, on=True)
        apps = []
        for ref in step.pods:
            found = self._client.get("v1", "Pod", ref.name, ref.namespace)
            apps.append(found["metadata"]["labels"])
            self._client.delete("v1", "Pod", ref.name, ref.namespace, grace=0)
        names = {ref.name for ref in step.pods}

        def moved() -> bool:
            found = [item for item in self._pods() if item["metadata"]["labels"] in apps]
            return len(found) == len(apps) and all(
                item["spec"].get("nodeName") and item["metadata"]["name"] not in names
                for item in found
            )

        wait(
            moved, timeout=RUNS_WITHIN_SECONDS, every=0.5, what=f"{sorted(names)} to run elsewhere"
        )
        self._cordon(nodes, on=False)

    def _wait_promised(self, case: PlanCase, promised: Counter[tuple[str, ...]]) -> None:
        """Wait until as many of each group of equal gangs run as were promised so far."""
        sizes = {case.named(gang.name): gang.pods for gang in (*case.first, *case.gangs)}

        def missing() -> list[str]:
            bound = Counter(
                item["metadata"]["labels"].get(_JOB_NAME, "")
                for item in self._pods(f"{objects.POOL}={case.name}")
                if item["spec"].get("nodeName")
            )
            runs = {name for name, size in sizes.items() if bound[name] >= size}
            return [
                f"{count} of {names}, {sorted(runs)} run"
                for names, count in promised.items()
                if len(runs & set(names)) < count
            ]

        wait(
            lambda: not missing(),
            timeout=RUNS_WITHIN_SECONDS,
            every=0.5,
            what=f"the promised gangs of {case.name} to run",
            seen=missing,
        )

    def clear(self) -> None:
        """Take everything away but the namespace; controllers must not make pods anew."""
        for version, kind in ((BATCH, "Job"), ("apps/v1", "ReplicaSet"), (GANGS, "PodGroup")):
            path = self._client.path(version, kind, self._arena.namespace)
            self._client.request("DELETE", path, {"propagationPolicy": "Background"})
        self._arena.clear()


def _was_refused(pod: Json) -> bool:
    return any(
        condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
        for condition in pod.get("status", {}).get("conditions") or ()
    )


class PlanReading:
    """The nodes, pods and Jobs of one case, read by the product."""

    def __init__(self, client: Client, namespace: str, case: PlanCase) -> None:
        """Read and decode everything of the pool."""
        pool = f"{objects.POOL}={case.name}"
        list_ = client.list
        self._nodes: list[Node] = [model(NODE, item) for item in list_("v1", "Node", labels=pool)]
        self._pods: list[Pod] = [
            model(POD, item) for item in list_("v1", "Pod", namespace, labels=pool)
        ]
        self._jobs: list[Owner] = [
            model(_JOBS, item) for item in list_(BATCH, "Job", namespace, labels=pool)
        ]
        named = {pod.group_name for pod in self._pods}
        self._groups: list[Group] = [
            model(GROUPS["podgroups.scheduling.k8s.io"], item, "v1beta1")
            for item in list_(GANGS, "PodGroup", namespace)
            if item["metadata"]["name"] in named
        ]
        items: list[Owner | Group | Pod] = [*self._jobs, *self._groups, *self._pods]
        graph = OwnershipGraph()
        refs = {item.meta.ref.uid: item.meta.ref for item in items}
        self._usage = NodeUsageTracker(graph, refs.get)
        for node in self._nodes:
            self._usage.put(node)
        for item in items:
            graph.put(item)
            if not isinstance(item, Group):
                self._usage.put(item)

    def plan(self) -> ClusterPlan:
        """Return the plan, from the verdicts on all gangs."""
        room = self._usage.capacity("")
        waiting = []
        for job in self._jobs:
            gang = self._gang(job, room)
            verdict = assess(gang)
            holds = any(pod.is_live and pod.node for pod in gang.pods)
            if holds and not is_whole(verdict.finding.stage.value, verdict.finding.code):
                self._usage.mark_incomplete(job.meta.ref.uid)
            waiting.append(waiting_gang_of(job, verdict))
        capacity = replace(self._usage.capacity(""), cache={})
        gangs = [gang for gang in waiting if gang is not None]
        return make_plan(capacity, gangs, self._movable, datetime.now(UTC), budget=SearchBudget(20))

    def _gang(self, job: Owner, room: ClusterCapacity) -> Gang:
        uid = job.meta.ref.uid
        pods = [pod for pod in self._pods if pod.meta.controller and pod.meta.controller.uid == uid]
        named = {pod.group_name for pod in pods}
        groups = [group for group in self._groups if group.meta.ref.name in named]
        return assemble(
            job,
            [*pods, *groups],
            now=datetime.now(UTC),
            gang_api_version="v1beta1",
            room=room,
            kubernetes=(1, 37),
            nodes={node.meta.ref.name: node for node in self._nodes},
        )

    def _movable(self, nodes: Sequence[str]) -> list[MovablePod]:
        by_uid = {pod.meta.ref.uid: pod for pod in self._pods}
        pods = [by_uid[uid] for uid in self._usage.replaceable_pods(nodes)]
        return [
            MovablePod(
                pod.meta.ref,
                pod.node,
                shape_of(pod.meta.ref.name, pod.requests, pod.needs, pod.needs.unsupported),
                self._usage.load_of([pod.meta.ref.uid])[pod.node],
            )
            for pod in pods
        ]


# Figures


def lines(outcomes: Sequence[PlanOutcome]) -> Iterator[str]:
    """Yield the figures, one on a line."""
    ends: dict[PlanEnd, list[PlanOutcome]] = defaultdict(list)
    for outcome in outcomes:
        ends[outcome.end].append(outcome)
    for end in PlanEnd:
        yield f"{end:<32} {len(ends[end])}"
    kinds = Counter(kind for outcome in outcomes for kind in outcome.kinds)
    yield f"steps                            {dict(kinds)}"
    yield f"promised gangs                   {sum(outcome.promised for outcome in outcomes)}"
    yield f"cases with a promise             {[item.case.number for item in ends[PlanEnd.KEPT]]}"


def report(arena: Arena, cases: Sequence[PlanCase]) -> int:
    """Play the cases; print the figures; return 1 if more than one plan in thirty was not kept."""
    outcomes = []
    for outcome in play(arena, cases):
        outcomes.append(outcome)
        if outcome.end is PlanEnd.BROKEN:
            print(outcome.words, flush=True)
    print(*lines(outcomes), sep="\n")
    broken = sum(outcome.end is PlanEnd.BROKEN for outcome in outcomes)
    kept = sum(outcome.end is PlanEnd.KEPT for outcome in outcomes)
    return 1 if 30 * broken > broken + kept else 0
