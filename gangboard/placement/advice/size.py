"""Advice to lower the size or the quorum of the gang to the largest number that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.group import Group, Policy, label_of_group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner, Role
from gangboard.domain.placement_result import When
from gangboard.domain.text import label, names
from gangboard.facts.copied_commands import patch_command
from gangboard.facts.unit import Unit
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.placement.advice.replicated_jobs import lower_role_size
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.advice.wording import fit_when, size_fields, with_method
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import members_with_node

_INDEX = "batch.kubernetes.io/job-completion-index"
MAX_FEWER_TRIED = 4
"""Most lower numbers to try if the order of the scheduler decides whether the largest number fits."""
ONLY_IN_SOME_ORDERS = "only in some orders"


def lower_quorum(what_if: WhatIf) -> Iterator[Advice]:
    """Advise a lower quorum for a group whose quorum a user set."""
    unit, group = what_if.unit, what_if.unit.group
    if group is None or unit.quorum is None or group.policy is not Policy.GANG:
        return
    placed = len(members_with_node(unit))
    if placed >= unit.quorum:
        return
    changed_object = _quorum_holder(what_if, group)
    when, largest, now = _largest_with_moment(what_if)
    fitting = _largest_in_any_order(what_if, largest, when)
    if when is When.DRAINED and fitting <= now:
        when, largest, fitting = (
            When.CURRENT,
            now,
            _largest_in_any_order(what_if, now, When.CURRENT),
        )
    quorum = placed + fitting
    if changed_object is None or fitting < 1 or quorum >= unit.quorum:
        return
    method = change_method(AdviceKind.QUORUM, changed_object, unit.gang.cluster.kubernetes)
    changed_ref = (unit.jobs[0] if changed_object is ChangedObject.GANG_JOB else group).meta.ref
    result = pods_fit_text(fitting, when, now)
    if fitting < largest:
        result += f" whichever the scheduler takes first, {largest} {ONLY_IN_SOME_ORDERS}"
    change = f"Lower the quorum of {_quorum_holder_label(what_if, group, changed_object)} from {unit.quorum}"
    job = job_of_group(what_if, group)
    if job is not None and job.gang_request is not None and job.gang_request.derived:
        change = f"Set minCount of {label(job.meta.ref)}, which has none,"
    yield Advice(
        AdviceKind.QUORUM,
        with_method(f"{change} to {quorum}: {result}", method),
        method=method,
        count=quorum,
        command=_command(what_if, changed_ref, ("minCount",), quorum, method),
    )


def _command(
    what_if: WhatIf, ref: ObjectRef, fields: Sequence[str], number: int, method: ChangeMethod
) -> tuple[str, ...]:
    """Return the command that sets these fields of an object in place. Empty: the change is not in place."""
    if method is not ChangeMethod.IN_PLACE:
        return ()
    traits = what_if.unit.gang.traits_of(ref)
    return patch_command(traits, ref, dict.fromkeys(fields, number))


def _quorum_holder_label(what_if: WhatIf, group: Group, changed_object: ChangedObject) -> str:
    if changed_object is ChangedObject.GANG_JOB:
        return label(what_if.unit.jobs[0].meta.ref)
    if changed_object is ChangedObject.WORKLOAD:
        return label_of_group(what_if.unit.group_name)
    role = _find_role_with_quorum(what_if.unit)
    if changed_object is ChangedObject.ROLE and role is not None:
        return f"{role.noun} {role.name} in {label(what_if.unit.owner.meta.ref)}"
    return label(group.meta.ref)


def _find_role_with_quorum(unit: Unit) -> Role | None:
    """Return the role whose quorum the group has. None: there is none, or the quorum has changed."""
    if len(unit.roles) != 1 or unit.roles[0].quorum != unit.quorum:
        return None
    return unit.roles[0] if unit.quorum is not None else None


def _largest_in_any_order(what_if: WhatIf, most: int, when: When) -> int:
    """Return the largest number that the scheduler places in any order. 0: none was found."""
    for number in range(most, max(0, most - MAX_FEWER_TRIED), -1):
        if what_if.frees(target=number) if when is When.CURRENT else what_if.frees_empty(number):
            return number
    return 0


def pods_fit_text(number: int, when: When = When.CURRENT, now: int = 0) -> str:
    """Return `1 pod fits now`, `6 pods fit when empty, 1 now`."""
    text = fit_when(when, now)
    return f"1 pod fits{text.removeprefix('fit')}" if number == 1 else f"{number} pods {text}"


def _quorum_holder(what_if: WhatIf, group: Group) -> ChangedObject | None:
    """Return the object that has, or could have, the quorum. None: only the size of a Job decides it."""
    controller = group.meta.controller
    if controller is None or controller.kind == "Workload":
        is_135 = what_if.unit.gang.cluster.gang_api_version == "v1alpha1"
        return ChangedObject.WORKLOAD if is_135 else ChangedObject.POD_GROUP
    if _find_role_with_quorum(what_if.unit) is not None:
        return ChangedObject.ROLE
    job = job_of_group(what_if, group)
    if job is None or job.meta.ref.uid != what_if.own_uid or job.gang_request is None:
        return None
    return ChangedObject.GANG_JOB if job.gang_request.quorum is not None else None


def job_of_group(what_if: WhatIf, group: Group) -> Owner | None:
    """Return the Job of the unit that owns its group. None: another object does."""
    controller = group.meta.controller
    uid = controller.uid if controller is not None else ""
    return next((job for job in what_if.unit.jobs if job.meta.ref.uid == uid), None)


def lower_size(what_if: WhatIf) -> Iterator[Advice]:
    """Advise the largest size with which a Job, or an owner with roles, whose pods are equal, would be whole.

    The size fits now. If the current size does not even fit on drained nodes, the advised size fits on drained nodes.
    """
    unit = what_if.unit
    if not what_if.is_one_shape or unit.foreign_pods:
        return
    if unit.gang.traits.role_size_field:
        yield from lower_role_size(what_if)
        return
    if len(unit.jobs) != 1:
        return
    job = unit.jobs[0]
    changed_object = _resized_object(what_if, job)
    if changed_object is None:
        return
    when, most, now = _largest_with_moment(what_if)
    size = len(unit.placed) + most
    if size < 1 or size >= (job.parallelism or 0) or not _keeps_its_pods(what_if, job, size):
        return
    method = change_method(AdviceKind.SIZE, changed_object, unit.gang.cluster.kubernetes)
    fields = size_fields(job)
    if job.gang_request is not None and job.gang_request.quorum and not job.gang_request.derived:
        # The API server refuses a minCount above parallelism, so one change sets both.
        fields += ("minCount",)
    yield Advice(
        AdviceKind.SIZE,
        with_method(
            f"Lower the {names(fields)} of {label(job.meta.ref)} from {job.parallelism} to {size}: "
            f"that many {fit_when(when, len(unit.placed) + now)}",
            method,
        ),
        method=method,
        count=size,
        command=_command(what_if, job.meta.ref, fields, size, method),
    )


def _resized_object(what_if: WhatIf, job: Owner) -> ChangedObject | None:
    """Return the object to resize. None: another owner controls the size or the quorum."""
    unit, group, maker = what_if.unit, what_if.unit.group, job.meta.controller
    if job.meta.ref.uid != what_if.own_uid or job.managed_by or job.delegated_template:
        return None
    if maker is not None and not unit.gang.traits_of(maker).makes_gangs:
        return None
    if unit.quorum is None:
        return ChangedObject.JOB if group is not None or not unit.group_name else None
    if group is None or group.entry is not None or job_of_group(what_if, group) is None:
        return None
    gang_request = job.gang_request
    quorums = {unit.quorum, gang_request.quorum if gang_request is not None else unit.quorum}
    if quorums != {job.parallelism}:
        return None
    return ChangedObject.GANG_JOB if gang_request is not None else ChangedObject.UNASKED_GANG_JOB


def _keeps_its_pods(what_if: WhatIf, job: Owner, size: int) -> bool:
    """Return whether the smaller Job keeps its placed and succeeded pods. Fewer completions drop the last indexes."""
    if "completions" not in size_fields(job):
        return True
    indexes = {str(index) for index in range(size)}
    return not job.succeeded_pods and all(
        pod.labels.get(_INDEX) in indexes for pod in what_if.unit.placed
    )


def _largest_with_moment(what_if: WhatIf) -> tuple[When, int, int]:
    """Return the moment a size is lowered for, the largest number that fits then, and the number that fits now."""
    now = largest_fit(what_if)
    most = largest_fit(what_if, When.DRAINED) if what_if.moment is When.DRAINED else now
    return (When.DRAINED, most, now) if most > now else (When.CURRENT, now, now)


def largest_fit(what_if: WhatIf, when: When = When.CURRENT) -> int:
    """Return the largest number of waiting members that provably fit."""
    low, high = 0, max(0, min(what_if.request.needed, what_if.request.size) - 1)
    separately = sum(
        min(pod_set.count, feasible_nodes_of(what_if.snapshot, pod_set.shape).total_pods(when))
        for pod_set in what_if.pod_sets
    )
    high = middle = min(high, separately)
    while low < high:
        # The sum over the shapes is a bound, and often the result.
        if what_if.fits(target=middle) if when is When.CURRENT else what_if.fits_empty(middle):
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return low
