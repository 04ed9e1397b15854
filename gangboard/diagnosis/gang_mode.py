"""The gang mode: how the pods of an owner with child Jobs are grouped into gangs, and the domains of placed groups.

The mode is compared with the owner's request. A controller that does not know the field makes no group. The Job
controller of 1.36 makes one for each Job without any request (real-owners.md §4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gangboard.domain.group import Policy
from gangboard.domain.owner import GangForm, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, is_or_are, names
from gangboard.domain.verdict import GangMode
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit

LABELS: Mapping[str, str] = {
    GangForm.WHOLE: "One gang",
    GangForm.PER_ROLE: "A gang per role",
    GangForm.PER_JOB: "A gang per Job",
    GangForm.CUSTOM: "Groups of its own",
    GangForm.POD_BY_POD: "Pod by pod",
    "unknown": "Not known",
}
"""Mode → its label on pages. A kind may have its own word for a role."""
_MAX_LISTED = 3
"""The largest number of gangs that a reason lists one by one."""


def gang_mode_of(gang: Gang, units: Sequence[Unit]) -> GangMode | None:
    """Return how the pods of the owner's Jobs are grouped, or None if it makes no Jobs."""
    if not gang.owner.roles or not gang.jobs:
        return None
    mode, reason = _observed(gang, units)
    request = gang.owner.gang_request
    requested = request.form if request is not None else None
    role = _role_term(gang)
    return GangMode(
        mode=mode,
        label=f"A gang per {role}" if mode == GangForm.PER_ROLE else LABELS[mode],
        reason=reason,
        asked=request.words if request is not None else "",
        differs=requested is not None and mode != "unknown" and not _fulfils(gang, requested, mode),
    )


def _observed(gang: Gang, units: Sequence[Unit]) -> tuple[str, str]:
    if gang.cluster.groups_unobserved:
        return "unknown", "PodGroups cannot be read, so how its pods are grouped is not known."
    gangs = [unit for unit in units if _is_gang(unit) and unit.jobs]
    if not gangs:
        return _without_gang(gang, units)
    loose = [unit for unit in units if not _is_gang(unit) and (unit.jobs or unit.missing_jobs)]
    if len(gangs) == 1 and not loose:
        return GangForm.WHOLE, f"All its Jobs are one gang of {_size_text(gangs[0])}."
    if not loose and _are_roles(gangs):
        each = names(map(_name_and_size, gangs))
        return GangForm.PER_ROLE, f"Each {_role_term(gang)} is a gang of its own: {each}."
    if not loose and all(len(unit.jobs) == 1 for unit in gangs):
        sizes = {_size_text(unit) for unit in gangs}
        each = f" ({sizes.pop()})" if len(sizes) == 1 else ""
        return GangForm.PER_JOB, f"Each of its {len(gangs)} Jobs is a gang of its own{each}."
    gang_texts = [*map(_name_and_size, gangs[:_MAX_LISTED])]
    if len(gangs) > _MAX_LISTED:
        gang_texts.append(f"{len(gangs) - _MAX_LISTED} more")
    if loose:
        gang_texts.append(f"{names(dict.fromkeys(map(_roles, loose)))} pod by pod")
    return GangForm.CUSTOM, f"{count(len(gangs), 'gang')}: {'; '.join(gang_texts)}."


def _without_gang(gang: Gang, units: Sequence[Unit]) -> tuple[str, str]:
    if not gang.pods:
        return "unknown", "It has no gang and no pods now."
    if missing := next(
        (unit.group_name for unit in units if unit.group_name and unit.group is None), ""
    ):
        return "unknown", f"Its pods name group {missing}, which does not exist."
    if unread := [unit for unit in units if unit.group and unit.group.policy is Policy.UNKNOWN]:
        return "unknown", f"The policy of group {unread[0].group_name} is not known here."
    grouped = " in groups without a quorum" if any(unit.group for unit in units) else ""
    return GangForm.POD_BY_POD, f"Its pods are scheduled one by one{grouped}."


def _is_gang(unit: Unit) -> bool:
    return unit.group is not None and unit.group.policy is Policy.GANG


def _are_roles(gangs: Sequence[Unit]) -> bool:
    """Return whether each gang has all Jobs of one role. A group made by a Job is for that Job only."""
    made_by_jobs = all(
        unit.group is not None
        and unit.group.meta.controller is not None
        and unit.group.meta.controller.is_job
        for unit in gangs
    )
    roles = [role for unit in gangs for role in {job.role_name for job in unit.jobs}]
    return not made_by_jobs and len(set(roles)) == len(roles) == len(gangs)


def _fulfils(gang: Gang, requested: GangForm, mode: str) -> bool:
    """Return whether the mode fulfils the request.

    With a single role, or with a single Job, several modes are the same.
    """
    if requested == mode or requested is GangForm.CUSTOM:
        return True
    if mode == GangForm.WHOLE and requested is GangForm.PER_ROLE:
        return len(gang.owner.roles) == 1
    if mode == GangForm.WHOLE:
        return requested is GangForm.PER_JOB and len(gang.jobs) == 1
    return (
        mode in (GangForm.PER_ROLE, GangForm.PER_JOB)
        and all(role.replicas == 1 for role in gang.owner.roles)
        and requested in (GangForm.PER_ROLE, GangForm.PER_JOB)
    )


def _size_text(unit: Unit) -> str:
    """Return `6 pods` or `6 pods, of which 4 are enough`."""
    pods = count(unit.desired, "pod")
    if unit.quorum is None or unit.quorum >= unit.desired:
        return pods
    return f"{pods}, of which {unit.quorum} {is_or_are(unit.quorum)} enough"


def _name_and_size(unit: Unit) -> str:
    return f"{_roles(unit)} ({_size_text(unit)})"


def _roles(unit: Unit) -> str:
    """Return the roles of a unit, else its name: `driver and workers`."""
    role_names = dict.fromkeys(job.role_name for job in unit.jobs if job.role_name)
    return names(role_names) or names(role.name for role in unit.roles) or unit.name


def _role_term(gang: Gang) -> str:
    """Return the term for a role, from the lowest owner whose kind has one."""
    makers: Iterable[Owner] = reversed(gang.makers)
    terms = (gang.traits_of(owner.meta.ref).role for owner in makers)
    return next((term for term in terms if term), "role")


def group_domains(gang: Gang) -> dict[str, dict[str, str]]:
    """Return uid of a group → topology key → the domain of its placed pods.

    Several domains are joined to one text. Groups without a pod on a known node are left out.
    """
    if not any(group.topology_keys for group in gang.groups):
        return {}
    pods_of: dict[str, list[Pod]] = defaultdict(list)
    for pod in gang.pods:
        if pod.is_live:
            pods_of[pod.group_name].append(pod)
    domains_of: dict[str, dict[str, str]] = {}
    for group in gang.groups:
        nodes = [
            gang.cluster.nodes[pod.node]
            for pod in pods_of[group.name]
            if pod.node in gang.cluster.nodes
        ]
        domains = {
            key: names(values)
            for key in group.topology_keys
            if (values := sorted({value for node in nodes if (value := node.labels.get(key))}))
        }
        if domains:
            domains_of[group.meta.ref.uid] = domains
    return domains_of
