"""Advice about the constraints of the gang: node selector, tolerations, topology and gang scheduling."""

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
from gangboard.placement.advice.labels import advise_label_sources, advise_label_values
from gangboard.placement.advice.size import job_of_group, largest_fit, pods_fit_text
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.advice.wording import then_fits, with_method
from gangboard.placement.matching import untolerated
from gangboard.placement.unavailable_nodes import is_set_by_controller, nodes_in_maintenance

MAX_TAINTS = 3


# Taints


def tolerate(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to tolerate one taint, if that is enough. Taints on the most nodes come first.

    There is no such advice for an owner with roles while other pods wait as well, because it would be re-created as a
    whole.
    """
    if _changed_object(what_if) is ChangedObject.MULTI_ROLE_OWNER and _other_pods_wait(
        what_if.unit
    ):
        return
    closed = {
        node.name: replace(node, unschedulable=True)
        for node in nodes_in_maintenance(what_if.snapshot)
    }
    for taint, count in _count_taints(what_if).most_common(MAX_TAINTS):
        request = _add_toleration(what_if.request, taint)
        if not what_if.frees(closed, request):
            continue
        method = change_method(
            AdviceKind.TOLERATE, _changed_object(what_if), what_if.unit.gang.cluster.kubernetes
        )
        nodes = "1 node" if count == 1 else f"{count} nodes"
        yield Advice(
            AdviceKind.TOLERATE,
            with_method(f"Tolerate the taint {taint} of {nodes}: {then_fits(what_if)}", method),
            method=method,
            taint=taint,
        )
        return


def select(what_if: WhatIf) -> Iterator[Advice]:
    """Advise on a selected label that no node has: other values, or its source.

    There is no such advice for an owner with roles while other pods wait as well, because it would be re-created as a
    whole.
    """
    changed_object = _changed_object(what_if)
    if not (changed_object is ChangedObject.MULTI_ROLE_OWNER and _other_pods_wait(what_if.unit)):
        yield from advise_label_values(what_if, changed_object)
        yield from advise_label_sources(what_if, changed_object)


def _other_pods_wait(unit: Unit) -> bool:
    own_uids = {pod.meta.ref.uid for pod in unit.pods}
    return any(
        pod.is_live and not pod.is_placed and pod.meta.ref.uid not in own_uids
        for pod in unit.gang.pods
    )


def _count_taints(what_if: WhatIf) -> Counter[Taint]:
    """Return the untolerated taints that people set, with their numbers of nodes.

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
            if not is_set_by_controller(taint)
        }
        if number:
            taints.update(dict.fromkeys(sorted(untolerated_taints, key=str), number))
    return taints


def _add_toleration(request: PlacementRequest, taint: Taint) -> PlacementRequest:
    toleration = Toleration(taint.key, "Equal", taint.value, taint.effect)
    pod_sets = tuple(
        PodSet(
            replace(pod_set.shape, tolerations=(*pod_set.shape.tolerations, toleration)),
            pod_set.count,
        )
        for pod_set in request.pod_sets
    )
    return replace(request, pod_sets=pod_sets)


# Topology and gang scheduling


def drop_topology(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to drop the topology constraint, if the assessment proves that the members fit without it."""
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
        with_method(f"Drop the constraint to one {keys}: {then_fits(what_if)}", method),
        method=method,
    )


def opt_out(what_if: WhatIf) -> Iterator[Advice]:
    """Advise how a Job leaves the gang that Kubernetes 1.36 created without a request, if some members fit.

    1.36 creates a gang for every Indexed Job with `completions` = `parallelism` > 1 (k8s-gang-api.md §5.1).
    If the group already has its quorum, its other pods are placed one by one in any case.
    """
    unit = what_if.unit
    if what_if.request.quorum is None:
        return
    if unit.gang.cluster.kubernetes != V1_36 or unit.group is None or len(unit.jobs) != 1:
        return
    job = job_of_group(what_if, unit.group)
    if job is None or job.gang_request is not None or not what_if.is_one_shape:
        return
    fitting = largest_fit(what_if)
    if fitting < 1:
        return
    method = change_method(
        AdviceKind.OPT_OUT, ChangedObject.UNASKED_GANG_JOB, unit.gang.cluster.kubernetes
    )
    yield Advice(
        AdviceKind.OPT_OUT,
        with_method(
            f"Kubernetes 1.36 makes a gang of every Indexed Job whose "
            f"parallelism equals its completions. As a NonIndexed Job, or with a parallelism below "
            f"its completions, its pods are placed one by one, and {pods_fit_text(fitting)}",
            method,
        ),
        method=method,
        count=fitting,
    )


def _changed_object(what_if: WhatIf) -> ChangedObject:
    unit = what_if.unit
    if unit.gang.traits.role_size_field:
        return ChangedObject.MULTI_ROLE_OWNER
    if unit.jobs:
        return ChangedObject.GANG_JOB if unit.quorum is not None else ChangedObject.JOB
    return ChangedObject.POD
