"""Drawn gangs that a controller makes: Jobs of four kinds, and JobSets of two replicated Jobs.

Nodes, running pods and requests are those of a drawn case of one shape (`drawing.make_case`); here are
drawn the kind, the sizes, and which nodes are about to leave.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from gangboard.domain.advice import Advice, AdviceKind
from tests.agreement import objects
from tests.agreement.cases import Ask, Case, PodSetSpec
from tests.agreement.drawing import make_case
from tests.agreement.reckoning import most
from tests.controlplane.client import Json
from tests.controlplane.objects import JOBSET, podgroup

BATCH = "batch/v1"
MISFITS = 0.9
"""Share of the cases that are drawn until too few of their members fit."""
HOPELESS = 0.1
"""Share of possible misfits that no single change can help. The others are drawn again."""
LEAVING = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1700000000", "effect": "NoSchedule"}
"""Taint of cluster-autoscaler on a node it is about to delete. No pod should tolerate it."""
_NEXT_DRAW = 1000
"""From one number of `make_case` to the next that is tried for the same case."""
_SIZES = ("parallelism", "completions", "replicas")


class Kind(StrEnum):
    """Form of the gang request."""

    DERIVED = "Job, gang {}"
    """Its quorum is its parallelism."""
    EXPLICIT = "Job, minCount"
    BROUGHT = "Job in a PodGroup"
    """Its pod template names a PodGroup that its user made."""
    LIST = "work list"
    """More completions than parallelism, pod by pod."""
    JOBSET = "JobSet"
    """A replicated Job of one driver and one of workers, pod by pod."""


POD_BY_POD = frozenset({Kind.LIST, Kind.JOBSET})


@dataclass(frozen=True)
class JobCase:
    """One cluster and one gang that controllers make.

    The pod sets of `case` are the workers `w` and, of a JobSet, the driver `d`; its quorum is how many
    must have a node, all of them pod by pod.
    """

    case: Case
    kind: Kind
    replicas: int = 1
    """Jobs that the workers of a JobSet are in."""
    leaving: frozenset[str] = frozenset()
    """Nodes with the taint of a controller; for the reckoning they are cordoned."""

    @property
    def name(self) -> str:
        """Return the name of the Job or JobSet."""
        return self.case.name


def make_job_case(seed: int, number: int) -> JobCase:
    """Return the case of that number: always the same for the same seed."""
    dice = Random(f"{seed}/{number}/jobs")
    kind, is_misfit = dice.choice(tuple(Kind)), dice.random() < MISFITS
    may_be_hopeless = dice.random() < HOPELESS
    draw = number
    while True:
        case = make_case(seed, draw)
        draw += _NEXT_DRAW
        if len(case.pod_sets) > 1 or case.is_spread:
            continue
        result = _of_kind(dice, replace(case, number=number), kind)
        if (most(result.case) < result.case.quorum) != is_misfit:
            continue
        if may_be_hopeless or is_helpable(result):
            return result


def _of_kind(dice: Random, case: Case, kind: Kind) -> JobCase:
    leaving = frozenset(
        node.name for node in case.nodes if not node.cordoned and dice.random() < 0.1
    )
    nodes = tuple(
        replace(node, cordoned=node.cordoned or node.name in leaving) for node in case.nodes
    )
    case = replace(case, nodes=nodes)
    if kind in POD_BY_POD:
        case = replace(case, topology=False)
    if kind is Kind.JOBSET:
        return _jobset(dice, case, leaving)
    if kind in (Kind.DERIVED, Kind.LIST):
        case = replace(case, quorum=case.size)
    return JobCase(case, kind, leaving=leaving)


def _jobset(dice: Random, case: Case, leaving: frozenset[str]) -> JobCase:
    (workers,) = case.pod_sets
    replicas = dice.choice((1, 1, 2, 3))
    pods = max(1, workers.count // replicas)
    workers = replace(workers, count=replicas * pods)
    # A driver like the workers, or a small one beside them.
    small = PodSetSpec("d", 1, Ask(cpu=100), tolerates=workers.tolerates)
    driver = small if dice.random() < 0.5 else replace(workers, name="d", count=1)
    case = replace(case, pod_sets=(driver, workers), order=("d",) + ("w",) * workers.count)
    return JobCase(replace(case, quorum=case.size), Kind.JOBSET, replicas, leaving)


def is_helpable(item: JobCase) -> bool:
    """Whether by plain reckoning one change alone, of any size, would do.

    Everything that runs gone, or all cordons, taints or the topology constraint without effect, or
    a size or quorum of what fits now.
    """
    case = item.case
    open_to = [
        replace(node, cordoned=node.cordoned and node.name in item.leaving) for node in case.nodes
    ]
    fewest = tuple(
        replace(pod_set, count=item.replicas if pod_set.name == "w" else 1)
        for pod_set in case.pod_sets
    )
    smaller = case if item.kind is not Kind.JOBSET else replace(case, pod_sets=fewest)
    least = smaller.size if item.kind is Kind.JOBSET else 1
    changed = (
        replace(case, nodes=tuple(replace(node, runs=()) for node in case.nodes)),
        replace(case, nodes=tuple(open_to)),
        replace(
            case, pod_sets=tuple(replace(pod_set, tolerates=True) for pod_set in case.pod_sets)
        ),
        replace(case, topology=False),
    )
    return most(smaller) >= least or any(
        most(changed_case) >= case.quorum for changed_case in changed
    )


# As objects


def node_objects(case: JobCase, run: str) -> list[Json]:
    """Return its nodes; those that leave have the taint of a controller and no cordon."""
    result = objects.node_objects(case.case, run)
    for created in result:
        if created["metadata"]["name"] in case.leaving:
            created["spec"].pop("unschedulable", None)
            created["spec"]["taints"] = [*created["spec"].get("taints", ()), LEAVING]
    return result


def gang_objects(case: JobCase, namespace: str, run: str) -> list[Json]:
    """Return the user's objects: the Job or JobSet first, then its PodGroup."""
    if case.kind is Kind.JOBSET:
        return [_jobset_object(case, namespace, run)]
    (pod_set,) = case.case.pod_sets
    count = pod_set.count
    spec = _job_spec(count, 3 * count if case.kind is Kind.LIST else count)
    spec["template"] = _template(case, pod_set, namespace, run)
    result = [_object(BATCH, "Job", case, namespace, run, spec)]
    if case.kind is Kind.BROUGHT:
        spec["template"]["spec"]["schedulingGroup"] = {"podGroupName": case.name}
        group = podgroup(
            case.name,
            namespace,
            gang=case.case.quorum,
            topology=objects.RACK if case.case.topology else None,
        )
        result.append(group)
    elif case.kind is not Kind.LIST:
        gang = {"minCount": case.case.quorum} if case.kind is Kind.EXPLICIT else {}
        spec["scheduling"] = {"schedulingPolicy": {"gang": gang}}
        if case.case.topology:
            spec["scheduling"]["schedulingConstraints"] = {"topology": [{"key": objects.RACK}]}
    return result


def _jobset_object(case: JobCase, namespace: str, run: str) -> Json:
    parts = []
    for pod_set in case.case.pod_sets:
        replicas = case.replicas if pod_set.name == "w" else 1
        spec = _job_spec(pod_set.count // replicas, pod_set.count // replicas)
        spec["template"] = _template(case, pod_set, namespace, run)
        parts.append({"name": pod_set.name, "replicas": replicas, "template": {"spec": spec}})
    return _object(JOBSET, "JobSet", case, namespace, run, {"replicatedJobs": parts})


def _job_spec(parallelism: int, completions: int) -> Json:
    return {
        "parallelism": parallelism,
        "completions": completions,
        "completionMode": "Indexed",
        "backoffLimit": 6,
    }


def _template(case: JobCase, pod_set: PodSetSpec, namespace: str, run: str) -> Json:
    """Return the pod template of a pod set: a member as it is drawn, in no group."""
    alone = replace(case.case, pod_sets=(pod_set,), order=(pod_set.name,))
    (created,) = objects.members(alone, namespace, run)
    spec = {key: value for key, value in created["spec"].items() if key != "schedulingGroup"}
    # Deleted pods vanish immediately, because there is no kubelet.
    spec["terminationGracePeriodSeconds"] = 0
    metadata = {key: created["metadata"][key] for key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": spec}


def _object(version: str, kind: str, case: JobCase, namespace: str, run: str, spec: Json) -> Json:
    labels = {objects.RUN: run, objects.POOL: case.name}
    metadata = {"name": case.name, "namespace": namespace, "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


# Advice, to the letter


def changed(created: Sequence[Json], advice: Advice, part: str, extra: int = 0) -> list[Json]:
    """Return the objects of a gang as the advice wants them, with `more` than its number.

    `part` is the replicated Job of a JobSet that it is about. The fields are those that the sentence
    names.
    """
    result = copy.deepcopy(list(created))
    owner, spec = result[0], _job_spec_of(result[0], part)
    if advice.change is AdviceKind.TOLERATE:
        assert advice.taint is not None
        taint = advice.taint
        entry = {"key": taint.key, "operator": "Equal", "effect": taint.effect}
        pods = spec["template"]["spec"]
        pods["tolerations"] = [*pods.get("tolerations", ()), {**entry, "value": taint.value}]
    elif advice.change is AdviceKind.SELECT:
        spec["template"]["spec"]["nodeSelector"][advice.label] = advice.values[0]
    elif advice.change is AdviceKind.DROP_TOPOLOGY:
        constrained = result[-1]["spec"] if len(result) > 1 else owner["spec"]["scheduling"]
        constrained.pop("schedulingConstraints")
    elif advice.change is AdviceKind.QUORUM:
        _set_quorum(result, _number(advice) + extra)
    else:
        assert advice.change is AdviceKind.SIZE, advice
        fields = advice.text.partition(" of ")[0]
        for name in _SIZES:
            if name in fields:
                target = _part(owner, part) if name == "replicas" else spec
                assert name in target, f"there is no {name} to lower: {advice.text}"
                target[name] = _number(advice) + extra
        if "minCount" in fields:
            _set_quorum(result, _number(advice) + extra)
    return result


def _number(advice: Advice) -> int:
    assert advice.count is not None, advice
    return advice.count


def _set_quorum(result: Sequence[Json], count: int) -> None:
    spec = result[-1]["spec"]
    requested = spec if len(result) > 1 else spec["scheduling"]
    requested["schedulingPolicy"] = {"gang": {"minCount": count}}


def _part(owner: Json, part: str) -> Json:
    result: Json = next(
        replicated_job
        for replicated_job in owner["spec"]["replicatedJobs"]
        if replicated_job["name"] == part
    )
    return result


def _job_spec_of(owner: Json, part: str) -> Json:
    result: Json = owner["spec"]
    if owner["kind"] == "JobSet":
        result = _part(owner, part)["template"]["spec"]
    return result


def asked_for(owner: Json) -> int:
    """Return how many pods a Job or JobSet wants at once."""
    if owner["kind"] == "JobSet":
        return sum(
            part["replicas"] * int(part["template"]["spec"]["parallelism"])
            for part in owner["spec"]["replicatedJobs"]
        )
    return int(owner["spec"]["parallelism"])
