"""Advice about the gang itself: its size, its quorum, what it tolerates, how it wants to be placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import GangRequest, Party, Taint, Toleration
from gangboard.domain.facts import Unit
from gangboard.domain.group import Group, Policy, label_of_group
from gangboard.domain.owner import Owner
from gangboard.domain.placing import Constraint
from gangboard.domain.reading.wording import label, names
from gangboard.placement.advice_jobset import lower_size_of_jobset
from gangboard.placement.advice_words import marked, sized, then_fits
from gangboard.placement.hosts import hosts_of
from gangboard.placement.matching import untolerated
from gangboard.placement.members import on_nodes
from gangboard.placement.trial import Trial
from gangboard.placement.ways import V1_36, Target, way_of

MOST_TAINTS = 3
_OF_CONTROLLERS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "karpenter.sh/unregistered",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "node.cluster.x-k8s.io/uninitialized",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
)
"""How taints begin that say of a node that it is in trouble, leaves or is not ready yet: nothing should
start there. The node lifecycle controller, cloud providers, Karpenter (v1 and before) and
cluster-autoscaler put and remove them (taints.go of each); Cluster API until a node has its labels;
AWS's termination handler (pkg/node/node.go: spot-itn, scheduled-maintenance, …) and GKE before a
node is taken away."""
_OF_AGENTS = "not-ready"
"""How taints end that an agent of the node takes away once it is there, whoever set them:
`node.cilium.io/agent-not-ready`, `ebs.csi.aws.com/agent-not-ready` and those of other CSI drivers
(install guides of each), `node.gardener.cloud/critical-components-not-ready`. Before that pods find
no network or no volumes."""
_INDEX = "batch.kubernetes.io/job-completion-index"
MOST_FEWER = 4
"""Numbers that are tried below the most that fit, where the order decides whether they get there."""
ONLY_IN_SOME_ORDERS = "only in some orders"


# Taints


def tolerate(trial: Trial) -> Iterator[Advice]:
    """Name the one taint whose toleration is enough, on the most nodes.

    Not of a JobSet of which other pods wait as well: it is made anew as a whole.
    """
    if _target(trial) is Target.JOBSET and _others_wait(trial.unit):
        return
    for taint, count in _taints(trial).most_common(MOST_TAINTS):
        request = _tolerating(trial.request, taint)
        if not trial.frees(request=request):
            continue
        way = way_of(Change.TOLERATE, _target(trial), trial.unit.facts.kubernetes)
        where = "1 node" if count == 1 else f"{count} nodes"
        yield Advice(
            Change.TOLERATE,
            marked(f"Tolerate the taint {taint} of {where}: {then_fits(trial)}", way),
            way=way,
            taint=taint,
        )
        return


def _others_wait(unit: Unit) -> bool:
    own = {pod.meta.ref.uid for pod in unit.pods}
    return any(
        pod.is_live and not pod.is_placed and pod.meta.ref.uid not in own for pod in unit.facts.pods
    )


def _taints(trial: Trial) -> Counter[Taint]:
    """Return the taints that keep members away and that people set, by number of nodes."""
    kinds = trial.ground.kinds()
    numbers = np.bincount(kinds.codes, minlength=len(kinds.nodes)).tolist()
    found: Counter[Taint] = Counter()
    for kind, number in zip(kinds.nodes, numbers, strict=True):
        here = {
            taint
            for party in trial.parties
            for taint in untolerated(kind, party.shape)
            if not taint.key.startswith(_OF_CONTROLLERS) and not taint.key.endswith(_OF_AGENTS)
        }
        found.update(dict.fromkeys(sorted(here, key=str), number))
    return found


def _tolerating(request: GangRequest, taint: Taint) -> GangRequest:
    more = Toleration(taint.key, "Equal", taint.value, taint.effect)
    parties = tuple(
        Party(
            replace(party.shape, tolerations=(*party.shape.tolerations, more)),
            party.count,
        )
        for party in request.parties
    )
    return replace(request, parties=parties)


# Size and quorum


def lower_quorum(trial: Trial) -> Iterator[Advice]:
    """Say to which number the quorum of a group that somebody set must go down."""
    unit, group = trial.unit, trial.unit.group
    if group is None or unit.quorum is None or group.policy is not Policy.GANG:
        return
    placed = len(on_nodes(unit))
    if placed >= unit.quorum:
        return
    target = _who_sets_quorum(trial, group)
    most = _most_that_fit(trial)
    fitting = _most_in_any_order(trial, most)
    quorum = placed + fitting
    if target is None or fitting < 1 or quorum >= unit.quorum:
        return
    way = way_of(Change.QUORUM, target, unit.facts.kubernetes)
    found = f"{_so_many(fitting)} now"
    if fitting < most:
        found += f" whichever the scheduler takes first, {most} {ONLY_IN_SOME_ORDERS}"
    what = f"Lower the quorum of {_label_of_quorum(trial, group, target)} from {unit.quorum}"
    job = _job_of(trial, group)
    if job is not None and job.gang_request is not None and job.gang_request.derived:
        what = f"Set minCount of {label(job.meta.ref)}, which has none,"
    yield Advice(Change.QUORUM, marked(f"{what} to {quorum}: {found}", way), way=way, count=quorum)


def _label_of_quorum(trial: Trial, group: Group, target: Target) -> str:
    if target is Target.GANG_JOB:
        return label(trial.unit.jobs[0].meta.ref)
    if target is Target.WORKLOAD:
        return label_of_group(trial.unit.group_name)
    return label(group.meta.ref)


def _most_in_any_order(trial: Trial, most: int) -> int:
    """Return how many the scheduler places whichever it takes first; 0 where that is not found."""
    for number in range(most, max(0, most - MOST_FEWER), -1):
        if trial.frees(target=number):
            return number
    return 0


def _so_many(number: int) -> str:
    return "1 pod fits" if number == 1 else f"{number} pods fit"


def _who_sets_quorum(trial: Trial, group: Group) -> Target | None:
    """Return where the number stands or could; None where only the size of a Job decides it."""
    controller = group.meta.controller
    if controller is None or controller.kind == "Workload":
        is_135 = trial.unit.facts.gang_api_version == "v1alpha1"
        return Target.WORKLOAD if is_135 else Target.POD_GROUP
    job = _job_of(trial, group)
    if job is None or job.meta.ref.uid != trial.own_uid or job.gang_request is None:
        return None
    return Target.GANG_JOB if job.gang_request.quorum is not None else None


def _job_of(trial: Trial, group: Group) -> Owner | None:
    controller = group.meta.controller
    uid = controller.uid if controller is not None else ""
    return next((job for job in trial.unit.jobs if job.meta.ref.uid == uid), None)


def lower_size(trial: Trial) -> Iterator[Advice]:
    """Say at which size a Job or JobSet, whose pods are all alike, would be whole now."""
    unit = trial.unit
    if len(unit.jobs) != 1 or not trial.is_one_shape or unit.strangers:
        return
    if unit.owner.meta.ref.kind == "JobSet":
        yield from lower_size_of_jobset(trial)
        return
    job = unit.jobs[0]
    target = _who_is_resized(trial, job)
    if target is None:
        return
    size = len(unit.placed) + _most_that_fit(trial)
    if size < 1 or size >= (job.parallelism or 0) or not _keeps_its_pods(trial, job, size):
        return
    way = way_of(Change.SIZE, target, unit.facts.kubernetes)
    fields = sized(job)
    if job.gang_request is not None and job.gang_request.quorum and not job.gang_request.derived:
        # The API server refuses a minCount above parallelism, and takes both in one change.
        fields += ("minCount",)
    yield Advice(
        Change.SIZE,
        marked(
            f"Lower the {names(fields)} of {label(job.meta.ref)} from {job.parallelism} to {size}: "
            f"that many fit now",
            way,
        ),
        way=way,
        count=size,
    )


def _who_is_resized(trial: Trial, job: Owner) -> Target | None:
    """Return as what the Job is made smaller; None where somebody else keeps its size or its quorum."""
    unit, group, maker = trial.unit, trial.unit.group, job.meta.controller
    if job.meta.ref.uid != trial.own_uid or job.managed_by or job.delegated_template:
        return None
    if maker is not None and maker.kind != "CronJob":
        return None
    if unit.quorum is None:
        return Target.JOB if group is not None or not unit.group_name else None
    if group is None or group.entry is not None or _job_of(trial, group) is None:
        return None
    asked = job.gang_request
    quorums = {unit.quorum, asked.quorum if asked is not None else unit.quorum}
    if quorums != {job.parallelism}:
        return None
    return Target.GANG_JOB if asked is not None else Target.UNASKED_GANG_JOB


def _keeps_its_pods(trial: Trial, job: Owner, size: int) -> bool:
    """Whether no pod with a node or that is done goes: with the completions go the last indexes."""
    if "completions" not in sized(job):
        return True
    kept = {str(index) for index in range(size)}
    return not job.succeeded_pods and all(
        pod.labels.get(_INDEX) in kept for pod in trial.unit.placed
    )


def _most_that_fit(trial: Trial) -> int:
    """Return the largest number of waiting members of which it is proven that they fit now."""
    low, high = 0, max(0, min(trial.request.needed, trial.request.size) - 1)
    alone = sum(
        min(party.count, int(hosts_of(trial.ground, party.shape).summary()[0]))
        for party in trial.parties
    )
    high = middle = min(high, alone)
    while low < high:
        # What each shape finds by itself is the bound, and often what they find together.
        if trial.fits(target=middle):
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return low


# How it wants to be placed


def drop_topology(trial: Trial) -> Iterator[Advice]:
    """Say that it fits without its topology constraint, which is proven by the assessment."""
    if trial.assessment.constraints != (Constraint.TOPOLOGY,):
        return
    free_of_it = replace(trial.request, topology_keys=(), domain=None)
    if not trial.frees(request=free_of_it):
        return
    target = Target.GANG_JOB if trial.unit.jobs else Target.POD_GROUP
    way = way_of(Change.DROP_TOPOLOGY, target, trial.unit.facts.kubernetes)
    keys = names(trial.request.topology_keys)
    yield Advice(
        Change.DROP_TOPOLOGY,
        marked(f"Drop the constraint to one {keys}: {then_fits(trial)}", way),
        way=way,
    )


def opt_out(trial: Trial) -> Iterator[Advice]:
    """Say how a Job gets out of the gang that 1.36 makes of it unasked, where some members fit.

    1.36 makes one of every Indexed Job with `completions` = `parallelism` > 1 (k8s-gang-api.md §5.1).
    Where the group has its quorum already, the others are placed one by one in it, too.
    """
    unit = trial.unit
    if trial.request.quorum is None:
        return
    if unit.facts.kubernetes != V1_36 or unit.group is None or len(unit.jobs) != 1:
        return
    job = _job_of(trial, unit.group)
    if job is None or job.gang_request is not None or not trial.is_one_shape:
        return
    fitting = _most_that_fit(trial)
    if fitting < 1:
        return
    way = way_of(Change.OPT_OUT, Target.UNASKED_GANG_JOB, unit.facts.kubernetes)
    yield Advice(
        Change.OPT_OUT,
        marked(
            f"Nobody asked for this gang: Kubernetes 1.36 makes one of every Indexed Job whose "
            f"parallelism equals its completions. As a NonIndexed Job, or with a parallelism below "
            f"its completions, its pods are placed one by one, and {_so_many(fitting)} now",
            way,
        ),
        way=way,
        count=fitting,
    )


def _target(trial: Trial) -> Target:
    unit = trial.unit
    if unit.owner.meta.ref.kind == "JobSet":
        return Target.JOBSET
    if unit.jobs:
        return Target.GANG_JOB if unit.quorum is not None else Target.JOB
    return Target.POD
