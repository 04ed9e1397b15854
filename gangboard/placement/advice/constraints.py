"""Advice about the gang itself: which nodes it selects and tolerates, how it wants to be placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import Constraint
from gangboard.domain.pod_constraints import Taint, Toleration
from gangboard.domain.text import names
from gangboard.facts.unit import Unit
from gangboard.placement.advice.change_methods import V1_36, ChangedObject, change_method
from gangboard.placement.advice.labels import mend_sources, select_another
from gangboard.placement.advice.size import job_of, most_that_fit, so_many
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.advice.wording import marked, then_fits
from gangboard.placement.matching import untolerated
from gangboard.placement.unavailable_nodes import LEAVING, nodes_in_maintenance

MOST_TAINTS = 3
_OF_CONTROLLERS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "karpenter.sh/unregistered",
    "DeletionCandidateOfClusterAutoscaler",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "node.cluster.x-k8s.io/uninitialized",
    *LEAVING,
)
"""Prefixes of taints on nodes that are in trouble, leave or are not ready yet. No pod should start there.

The node lifecycle controller, cloud providers, Karpenter (v1 and before) and cluster-autoscaler set and
remove them (taints.go of each). Cluster API does so until a node has its labels. AWS's termination
handler (pkg/node/node.go: spot-itn, scheduled-maintenance, …) and GKE do so before they remove a node."""
_OF_AGENTS = "not-ready"
"""Suffixes of taints that an agent of the node removes when it runs, whoever set them:
`node.cilium.io/agent-not-ready`, `ebs.csi.aws.com/agent-not-ready` and those of other CSI drivers
(install guides of each), `node.gardener.cloud/critical-components-not-ready`. Before that pods find
no network or no volumes."""


# Taints


def tolerate(what_if: WhatIf) -> Iterator[Advice]:
    """Name the one taint whose toleration is enough, on the most nodes.

    Not of an owner of parts of which other pods wait as well: it is made anew as a whole.
    """
    if _changed_object(what_if) is ChangedObject.OF_PARTS and _others_wait(what_if.unit):
        return
    closed = {
        node.name: replace(node, unschedulable=True)
        for node in nodes_in_maintenance(what_if.snapshot)
    }
    for taint, count in _taints(what_if).most_common(MOST_TAINTS):
        request = _tolerating(what_if.request, taint)
        if not what_if.frees(closed, request):
            continue
        method = change_method(
            AdviceKind.TOLERATE, _changed_object(what_if), what_if.unit.gang.cluster.kubernetes
        )
        nodes = "1 node" if count == 1 else f"{count} nodes"
        yield Advice(
            AdviceKind.TOLERATE,
            marked(f"Tolerate the taint {taint} of {nodes}: {then_fits(what_if)}", method),
            method=method,
            taint=taint,
        )
        return


def select(what_if: WhatIf) -> Iterator[Advice]:
    """Say which values of a label there are that the members select with one that no node has, or whose label it is.

    Not of an owner of parts of which other pods wait as well: it is made anew as a whole.
    """
    changed_object = _changed_object(what_if)
    if not (changed_object is ChangedObject.OF_PARTS and _others_wait(what_if.unit)):
        yield from select_another(what_if, changed_object)
        yield from mend_sources(what_if, changed_object)


def _others_wait(unit: Unit) -> bool:
    own_uids = {pod.meta.ref.uid for pod in unit.pods}
    return any(
        pod.is_live and not pod.is_placed and pod.meta.ref.uid not in own_uids
        for pod in unit.gang.pods
    )


def _taints(what_if: WhatIf) -> Counter[Taint]:
    """Return the taints that keep members away and that people set, by number of nodes.

    Nodes in maintenance do not count.
    """
    snapshot = what_if.snapshot
    kinds = snapshot.taint_groups()
    in_maintenance = [snapshot.row(node.name) for node in nodes_in_maintenance(snapshot)]
    codes = np.delete(kinds.codes, [place for place in in_maintenance if place is not None])
    numbers = np.bincount(codes, minlength=len(kinds.nodes)).tolist()
    taints: Counter[Taint] = Counter()
    for kind, number in zip(kinds.nodes, numbers, strict=True):
        untolerated_taints = {
            taint
            for pod_set in what_if.pod_sets
            for taint in untolerated(kind, pod_set.shape)
            if not taint.key.startswith(_OF_CONTROLLERS) and not taint.key.endswith(_OF_AGENTS)
        }
        if number:
            taints.update(dict.fromkeys(sorted(untolerated_taints, key=str), number))
    return taints


def _tolerating(request: PlacementRequest, taint: Taint) -> PlacementRequest:
    toleration = Toleration(taint.key, "Equal", taint.value, taint.effect)
    pod_sets = tuple(
        PodSet(
            replace(pod_set.shape, tolerations=(*pod_set.shape.tolerations, toleration)),
            pod_set.count,
        )
        for pod_set in request.pod_sets
    )
    return replace(request, pod_sets=pod_sets)


# How it wants to be placed


def drop_topology(what_if: WhatIf) -> Iterator[Advice]:
    """Say that it fits without its topology constraint, which is proven by the assessment."""
    if what_if.assessment.constraints != (Constraint.TOPOLOGY,):
        return
    free_of_it = replace(what_if.request, topology_keys=(), domain=None)
    if not what_if.frees(request=free_of_it):
        return
    changed_object = ChangedObject.GANG_JOB if what_if.unit.jobs else ChangedObject.POD_GROUP
    method = change_method(
        AdviceKind.DROP_TOPOLOGY, changed_object, what_if.unit.gang.cluster.kubernetes
    )
    keys = names(what_if.request.topology_keys)
    yield Advice(
        AdviceKind.DROP_TOPOLOGY,
        marked(f"Drop the constraint to one {keys}: {then_fits(what_if)}", method),
        method=method,
    )


def opt_out(what_if: WhatIf) -> Iterator[Advice]:
    """Advise how a Job leaves the gang that 1.36 makes of it unasked, if some members fit.

    1.36 makes one of every Indexed Job with `completions` = `parallelism` > 1 (k8s-gang-api.md §5.1).
    If the group has its quorum already, its other pods are placed one by one as well.
    """
    unit = what_if.unit
    if what_if.request.quorum is None:
        return
    if unit.gang.cluster.kubernetes != V1_36 or unit.group is None or len(unit.jobs) != 1:
        return
    job = job_of(what_if, unit.group)
    if job is None or job.gang_request is not None or not what_if.is_one_shape:
        return
    fitting = most_that_fit(what_if)
    if fitting < 1:
        return
    method = change_method(
        AdviceKind.OPT_OUT, ChangedObject.UNASKED_GANG_JOB, unit.gang.cluster.kubernetes
    )
    yield Advice(
        AdviceKind.OPT_OUT,
        marked(
            f"Nobody asked for this gang: Kubernetes 1.36 makes one of every Indexed Job whose "
            f"parallelism equals its completions. As a NonIndexed Job, or with a parallelism below "
            f"its completions, its pods are placed one by one, and {so_many(fitting)}",
            method,
        ),
        method=method,
        count=fitting,
    )


def _changed_object(what_if: WhatIf) -> ChangedObject:
    unit = what_if.unit
    if unit.gang.traits.role_size_field:
        return ChangedObject.OF_PARTS
    if unit.jobs:
        return ChangedObject.GANG_JOB if unit.quorum is not None else ChangedObject.JOB
    return ChangedObject.POD
