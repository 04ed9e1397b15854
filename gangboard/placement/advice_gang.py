"""Advice about the gang itself: its size, its quorum, what it tolerates, how it wants to be placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, Change, Way
from gangboard.domain.capacity import GangRequest, Party, Taint, Toleration
from gangboard.domain.group import Group, Policy, label_of_group
from gangboard.domain.owner import Owner
from gangboard.domain.placing import Constraint
from gangboard.domain.reading.wording import label, names
from gangboard.placement.advice_words import then_fits
from gangboard.placement.hosts import hosts_of
from gangboard.placement.matching import CORDON, NOT_READY, untolerated
from gangboard.placement.trial import Trial
from gangboard.placement.ways import V1_36, Target, way_of

MOST_TAINTS = 3
MOST_FEWER = 4
"""Numbers that are tried below the most that fit, where the order decides whether they get there."""
ONLY_IN_SOME_ORDERS = "only in some orders"
_ENDING = {Way.IN_PLACE: "", Way.RECREATE: " It has to be made anew for that."}


# Taints


def tolerate(trial: Trial) -> Iterator[Advice]:
    """Name the one taint whose toleration is enough, on the most nodes."""
    for taint, count in _taints(trial).most_common(MOST_TAINTS):
        request = _tolerating(trial.request, taint)
        if not trial.frees(request=request):
            continue
        way = way_of(Change.TOLERATE, _target(trial), trial.unit.facts.kubernetes)
        where = "1 node" if count == 1 else f"{count} nodes"
        yield Advice(
            Change.TOLERATE,
            f"Tolerate the taint {taint} of {where}: {then_fits(trial)}.{_ENDING[way]}",
            way=way,
            taint=taint,
        )
        return


def _taints(trial: Trial) -> Counter[Taint]:
    """Return the taints that keep members away, by number of nodes; a cordon is none of them."""
    kinds = trial.ground.kinds()
    numbers = np.bincount(kinds.codes, minlength=len(kinds.nodes)).tolist()
    found: Counter[Taint] = Counter()
    for kind, number in zip(kinds.nodes, numbers, strict=True):
        here = {
            taint
            for party in trial.parties
            for taint in untolerated(kind, party.shape)
            if taint.key != CORDON and taint.key not in NOT_READY
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
    target = _who_sets_quorum(trial, group)
    placed = unit.quorum - trial.request.needed
    most = _most_that_fit(trial)
    fitting = _most_in_any_order(trial, most)
    quorum = placed + fitting
    if target is None or fitting < 1 or placed < 0 or quorum >= unit.quorum:
        return
    way = way_of(Change.QUORUM, target, unit.facts.kubernetes)
    found = f"{_so_many(fitting)} now"
    if fitting < most:
        found += f" whichever the scheduler takes first, {most} {ONLY_IN_SOME_ORDERS}"
    whose = label(unit.jobs[0].meta.ref) if target is Target.GANG_JOB else label(group.meta.ref)
    if target is Target.WORKLOAD:
        whose = label_of_group(unit.group_name)
    yield Advice(
        Change.QUORUM,
        f"Lower the quorum of {whose} from {unit.quorum} to {quorum}: {found}.{_ENDING[way]}",
        way=way,
        count=quorum,
    )


def _most_in_any_order(trial: Trial, most: int) -> int:
    """Return how many the scheduler places whichever it takes first; 0 where that is not found."""
    for number in range(most, max(0, most - MOST_FEWER), -1):
        if trial.frees(target=number):
            return number
    return 0


def _so_many(number: int) -> str:
    return "1 pod fits" if number == 1 else f"{number} pods fit"


def _who_sets_quorum(trial: Trial, group: Group) -> Target | None:
    """Return where the number stands; None where it follows from the size of a Job."""
    controller = group.meta.controller
    if controller is None or controller.kind == "Workload":
        is_135 = trial.unit.facts.gang_api_version == "v1alpha1"
        return Target.WORKLOAD if is_135 else Target.POD_GROUP
    job = _job_of(trial, group)
    asked = job.gang_request if job is not None else None
    return Target.GANG_JOB if asked is not None and asked.quorum is not None else None


def _job_of(trial: Trial, group: Group) -> Owner | None:
    controller = group.meta.controller
    uid = controller.uid if controller is not None else ""
    return next((job for job in trial.unit.jobs if job.meta.ref.uid == uid), None)


def lower_size(trial: Trial) -> Iterator[Advice]:
    """Say at which size a standalone Job, whose pods are all alike, would be whole now."""
    unit = trial.unit
    if len(unit.jobs) != 1 or not trial.is_one_shape or unit.strangers:
        return
    job = unit.jobs[0]
    if job.meta.ref.uid != unit.owner.meta.ref.uid or job.parallelism is None:
        return
    if unit.quorum is not None and unit.quorum < unit.wanted:
        return  # then the quorum is what keeps it
    size = len(unit.placed) + _most_that_fit(trial)
    if size < 1 or size >= job.parallelism or job.succeeded_pods:
        return
    target = Target.GANG_JOB if unit.quorum is not None else Target.JOB
    elastic = not job.indexed or job.completions == job.parallelism
    way = way_of(Change.SIZE, target, unit.facts.kubernetes) if elastic else Way.RECREATE
    both = " and completions" if job.indexed else ""
    yield Advice(
        Change.SIZE,
        f"Lower the parallelism{both} of {label(job.meta.ref)} from {job.parallelism} to {size}: "
        f"so many fit now.{_ENDING[way]}",
        way=way,
        count=size,
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
        f"Drop the constraint to one {keys}: {then_fits(trial)}.{_ENDING[way]}",
        way=way,
    )


def opt_out(trial: Trial) -> Iterator[Advice]:
    """Say how a Job gets out of the gang that 1.36 makes of it unasked, where some members fit.

    1.36 makes one of every Indexed Job with `completions` = `parallelism` > 1 (k8s-gang-api.md §5.1).
    """
    unit = trial.unit
    if unit.facts.kubernetes != V1_36 or unit.group is None or len(unit.jobs) != 1:
        return
    job = _job_of(trial, unit.group)
    if job is None or job.gang_request is not None or not trial.is_one_shape:
        return
    fitting = _most_that_fit(trial)
    if fitting < 1:
        return
    yield Advice(
        Change.OPT_OUT,
        f"Nobody asked for this gang: Kubernetes 1.36 makes one of every Indexed Job whose "
        f"parallelism equals its completions. Made anew as a NonIndexed Job, or with a parallelism "
        f"below its completions, its pods are placed one by one, and {_so_many(fitting)} now.",
        way=Way.RECREATE,
        count=fitting,
    )


def _target(trial: Trial) -> Target:
    unit = trial.unit
    if unit.owner.meta.ref.kind == "JobSet":
        return Target.JOBSET
    if unit.jobs:
        return Target.GANG_JOB if unit.quorum is not None else Target.JOB
    return Target.POD
