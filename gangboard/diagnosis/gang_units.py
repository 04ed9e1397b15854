"""Units of a gang. Each of them gets a finding.

These are units:

- Each PodGroup (1.35: entry of a Workload) with pods, Jobs or roles of the gang. A group for one Job alone has
  the name of that Job. A group that does not keep pods together (`loose_groups`) is not a unit.
- Each child Job without a group.
- The missing Jobs of a role without a group, as one unit.
- The pods that the owner makes without Jobs, by role if its kind can tell roles apart, else all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gangboard.domain.group import Group, Policy
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.text import natural_key
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import Gang
from gangboard.facts.groups import (
    COMPOSITE,
    POD_GROUP,
    WORKLOAD,
    group_size,
    loose_groups,
    pods_by_group,
    takes_pods,
)
from gangboard.facts.roles import several_replicas_name
from gangboard.facts.unit import Unit
from gangboard.plugins import registry

MAX_EMPTY_UNITS = 64
"""The largest number of units without any object that get a finding each.

The rest is one unit with a count, because an object of 1 MB can have 20,000 roles.
"""


@dataclass(slots=True)
class _Share:
    """The objects and roles of a gang that go into one unit."""

    jobs: list[Owner] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    """Including pods that no Job of the unit has made."""
    roles: dict[str, Role] = field(default_factory=dict)
    missing: list[tuple[str, Role]] = field(default_factory=list)
    """Child Jobs that do not exist, each with its role."""
    own_pods: int = 0
    """The number of pods that the owner makes itself for these roles."""


def units_of(gang: Gang) -> tuple[Unit, ...]:
    """Return the units of a gang, at least one, with unique names."""
    return _with_events(gang, _with_unique_names(_Division(gang).units()))


class _Division:
    """Assigns Jobs, pods and roles to groups, Jobs and roles."""

    def __init__(self, gang: Gang) -> None:
        self._gang = gang
        self._groups = {group.name: group for group in gang.groups if takes_pods(group)}
        self._group_by_maker = {
            maker.uid: name
            for name, group in reversed(self._groups.items())
            if (maker := _maker(group)) is not None
        }
        self._pods_of = gang.pods_by_job
        self._foreign_pods = pods_by_group(gang.foreign_pods)
        self._loose = loose_groups(gang.groups, (*gang.pods, *gang.foreign_pods))
        self._roles = {role.name: role for role in gang.owner.roles}
        self._role_of_child = {
            name: role.name for role in gang.owner.roles for name in role.child_names
        }
        self._existing_jobs = {job.meta.ref.name for job in gang.jobs}
        self._jobs_of: dict[str, list[Owner]] = defaultdict(list)
        for job in gang.jobs:
            self._jobs_of[self._role_name(job)].append(job)
        self._by_template: dict[str, list[str]] = defaultdict(list)
        for name, group in self._groups.items():
            self._by_template[group.template_name].append(name)
        self._only_group = self._group_of_owner()
        self._group_of = {job.meta.ref.uid: self._group_of_job(job) for job in gang.jobs}
        self._in_group: dict[str, _Share] = defaultdict(_Share)
        self._in_job: dict[str, _Share] = {}
        self._in_role: dict[str, _Share] = {}
        self._rest: list[Pod] = []
        ref = gang.owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        self._role_of = kind.role_of if kind and kind.overrides("role_of") else None
        self._group_by_pods = self._groups_of_roles()

    def units(self) -> Iterator[Unit]:
        """Yield groups, then Jobs, missing Jobs of roles, and the owner's own pods."""
        for job in self._gang.jobs:
            self._assign_job(job)
        for role in self._gang.owner.roles:
            self._assign_role(role)
        self._assign_pods()
        if self._gang.owner.meta.ref.kind in (POD_GROUP, COMPOSITE, WORKLOAD):
            for name in self._groups.keys() - self._loose:
                self._in_group.setdefault(name, _Share())  # even without pods
        groups = {name: self._in_group[name] for name in sorted(self._in_group, key=natural_key)}
        # A role without pods is not a unit, unless it is the only one.
        roles = {
            name: share
            for name, share in self._in_role.items()
            if share.own_pods or share.missing or share.pods
        }
        units = [
            self._group_unit(name, share)
            for name, share in _with_limited_empty_units(groups, self._groups)
        ]
        units += [self._job_unit(share) for share in self._in_job.values()]
        units += [self._role_unit(name, share) for name, share in _with_limited_empty_units(roles)]
        if self._rest or not units:
            units.append(self._owner_unit(units))
        yield from units

    # Which group a Job or role is in

    def _group_named(self, pod: Pod) -> str:
        """Return the group that keeps a pod together with other pods, or empty."""
        return "" if pod.group_name in self._loose else pod.group_name

    def _group_of_owner(self) -> str:
        """Return the only PodGroup that the owner made for its Jobs, or empty.

        Planned for JobSet v0.13 (`spec.scheduling: {}`): before pods exist, no other field names the group.
        """
        makers = {maker.meta.ref.uid for maker in self._gang.makers if not maker.meta.ref.is_job}
        groups = [
            name
            for name, group in self._groups.items()
            if (maker := _maker(group)) is not None and maker.uid in makers
        ]
        return groups[0] if len(groups) == 1 and groups[0] not in self._loose else ""

    def _group_of_job(self, job: Owner) -> str:
        """Return the group that a Job's pods are in or will be in, or empty.

        Existing pods name it. Without pods it is the first of these:

        - the group of the Job's template
        - the group that the Job controller made for it
        - the group of the template that its owner names
        - the owner's only group
        """
        pods = self._pods_of[job.meta.ref.uid]
        if pods:
            named = [pod for pod in pods if pod.group_name]
            if not named:
                return ""
            names = Counter(name for pod in named if (name := self._group_named(pod)))
            return max(names, key=lambda name: (names[name], name), default="")
        if job.group_name:
            return job.group_name
        if job.meta.ref.uid in self._group_by_maker:
            return self._group_by_maker[job.meta.ref.uid]
        if job.delegated_template:
            groups = self._by_template[job.delegated_template]
            return groups[0] if len(groups) == 1 else ""
        return self._only_group

    def _group_of_role(self, role: Role, jobs: list[Owner]) -> str:
        """Return the group that the missing Jobs of a role will be in, or empty.

        It is the group of the role's template, or the one that all its Jobs share. A group made by a Job is for
        that Job only.
        """
        if role.group_name:
            return role.group_name
        if self._makes_pods(role):
            return self._group_by_pods.get(role.name, self._only_group)
        names = {self._group_of[job.meta.ref.uid] for job in jobs} or {self._only_group}
        name = names.pop() if len(names) == 1 else ""
        group = self._groups.get(name)
        maker = _maker(group) if group is not None else None
        is_of_job = maker is not None and maker.is_job
        return "" if is_of_job else name

    def _groups_of_roles(self) -> dict[str, str]:
        """Return role → the group that most of its pods name, for roles whose pods the owner makes itself."""
        if self._role_of is None:
            return {}
        groups: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in self._gang.pods:
            groups[self._role_of(pod)][self._group_named(pod)] += 1
        return {
            role: max(names, key=lambda name: (bool(name), names[name], name))
            for role, names in groups.items()
        }

    # Assignment

    def _assign_job(self, job: Owner) -> None:
        name = self._group_of[job.meta.ref.uid]
        share = (
            self._in_group[name] if name else self._in_job.setdefault(job.meta.ref.uid, _Share())
        )
        share.jobs.append(job)
        role = self._roles.get(self._role_name(job))
        if role is not None:
            share.roles[role.name] = role

    def _assign_role(self, role: Role) -> None:
        missing = [(name, role) for name in role.child_names if name not in self._existing_jobs]
        makes_pods = self._makes_pods(role)
        name = self._group_of_role(role, self._jobs_of.get(role.name, []))
        if name and (missing or makes_pods or name in self._in_group):
            share = self._in_group[name]
        elif missing or makes_pods:
            share = self._in_role.setdefault(role.name, _Share())
        else:
            return
        share.roles[role.name] = role
        share.missing += missing
        if makes_pods:
            share.own_pods += role.replicas * role.pods

    def _role_name(self, job: Owner) -> str:
        """Return the role of a child Job by its label, or by its name without that label."""
        return job.role_name or self._role_of_child.get(job.meta.ref.name, "")

    def _makes_pods(self, role: Role) -> bool:
        """Return whether the owner makes the pods of a role without Jobs."""
        return self._role_of is not None and not role.child_names

    def _assign_pods(self) -> None:
        for pod in self._gang.pods:
            controller = pod.meta.controller
            job = self._group_of.get(controller.uid) if controller is not None else None
            group = pod.group_name and self._group_named(pod)
            if group:
                self._in_group[group].pods.append(pod)
            elif job:
                self._in_group[job].pods.append(pod)
            elif job is not None and controller is not None:
                self._in_job[controller.uid].pods.append(pod)
            else:
                role = self._role_of(pod) if self._role_of is not None else ""
                share = self._in_role.get(role)
                (self._rest if share is None else share.pods).append(pod)

    # Units

    def _group_unit(self, name: str, share: _Share) -> Unit:
        group = self._groups.get(name)
        foreign_pods = tuple(self._foreign_pods.get(name, ()))
        job_names = [job.meta.ref.name for job in share.jobs] + [job for job, _ in share.missing]
        bare = self._pods_without_job(share)
        is_of_job = len(job_names) == 1 and not bare and not foreign_pods
        unit = self._unit(
            job_names[0] if is_of_job else name, "Job" if is_of_job else "group", share
        )
        is_gang = group is not None and group.policy is Policy.GANG
        return replace(
            unit,
            desired=unit.desired + self._size_of_bare(share, group, bare),
            quorum=group.quorum if group is not None and is_gang else None,
            foreign_pods=foreign_pods,
            group=group,
            group_name=name,
        )

    def _size_of_bare(self, share: _Share, group: Group | None, bare: list[Pod]) -> int:
        """Return the number of pods that a group should have besides those of its Jobs and roles."""
        if share.own_pods:
            return max(0, len(bare) - share.own_pods)
        if share.jobs or share.missing:
            return len(bare)
        owner = self._gang.owner
        if len(self._in_group) == 1 and not self._in_job and not self._in_role:
            return max(0, owner.desired - len(self._rest))
        if group is None or owner.meta.ref.kind not in (COMPOSITE, WORKLOAD):
            return len(bare)
        own = [pod for pod in share.pods if pod.group_name == group.name]
        return group_size(group, own, self._foreign_pods.get(group.name, []))

    def _pods_without_job(self, share: _Share) -> list[Pod]:
        jobs = {job.meta.ref.uid for job in share.jobs}
        return [
            pod
            for pod in share.pods
            if pod.meta.controller is None or pod.meta.controller.uid not in jobs
        ]

    def _job_unit(self, share: _Share) -> Unit:
        return self._unit(share.jobs[0].meta.ref.name, "Job", share)

    def _role_unit(self, name: str, share: _Share) -> Unit:
        missing = [job for job, _ in share.missing]
        roles = list(share.roles.values())
        quorums = [role.quorum for role in roles if role.quorum is not None]
        unit = self._unit(missing[0] if len(missing) == 1 else name, roles[0].noun, share)
        return replace(unit, quorum=sum(quorums) if len(quorums) == len(roles) else None)

    def _owner_unit(self, units: list[Unit]) -> Unit:
        """Return the unit of the pods that the owner makes without a Job or group."""
        owner = self._gang.owner
        rest = owner.desired - sum(unit.desired for unit in units)
        unit = self._unit(owner.meta.ref.name, owner.meta.ref.kind, _Share(pods=self._rest))
        desired = max(rest, len(self._rest)) if units else owner.desired
        return replace(unit, desired=desired)

    def _unit(self, name: str, noun: str, share: _Share) -> Unit:
        suspended = () if self._gang.owner.suspended else share.jobs
        return Unit(
            gang=self._gang,
            name=name,
            noun=noun,
            desired=sum([job.desired for job in share.jobs])
            + sum([role.pods for _, role in share.missing])
            + share.own_pods,
            quorum=None,
            jobs=tuple(share.jobs),
            roles=tuple(share.roles.values()),
            pods=tuple(share.pods),
            held=sum([job.desired for job in suspended if job.suspended and job.finish is None]),
            missing_jobs=tuple([name for name, _ in share.missing]),
        )


def _with_limited_empty_units(
    shares: Mapping[str, _Share], groups: Container[str] = ()
) -> Iterator[tuple[str, _Share]]:
    """Yield the shares of units by name. Those without any object beyond `MAX_EMPTY_UNITS` are one share.

    `groups` has the names of existing groups.
    """
    absent = [
        name
        for name, share in shares.items()
        if not share.jobs and not share.pods and name not in groups
    ]
    counted = dict.fromkeys(absent[MAX_EMPTY_UNITS:] if len(absent) > MAX_EMPTY_UNITS + 1 else ())
    yield from ((name, share) for name, share in shares.items() if name not in counted)
    if counted:
        rest = _Share()
        for name in counted:
            rest.roles.update(shares[name].roles)
            rest.missing += shares[name].missing
            rest.own_pods += shares[name].own_pods
        yield several_replicas_name(next(iter(counted)), len(counted)), rest


def _maker(group: Group) -> Controller | None:
    """Return the controller that made a group for its own pods. An entry (1.35) has none."""
    return group.meta.controller if group.entry is None else None


def _with_unique_names(units: Iterable[Unit]) -> list[Unit]:
    """Return the units with unique names: a repeated name is replaced by the group's name or gets a number."""
    taken: dict[str, Unit] = {}
    for unit in units:
        name, noun, number = unit.name, unit.noun, 2
        if name in taken and unit.group_name and unit.group_name not in taken:
            name, noun = unit.group_name, "group"
        while name in taken:
            name, number = f"{unit.name} ({number})", number + 1
        is_named = (name, noun) == (unit.name, unit.noun)
        taken[name] = unit if is_named else replace(unit, name=name, noun=noun)
    return list(taken.values())


def _with_events(gang: Gang, units: list[Unit]) -> tuple[Unit, ...]:
    """Return the units with their memory, and with the events about them or about no unit in particular."""
    unit_of: dict[str, str] = {}
    for unit in units:
        objects = (*unit.jobs, *unit.pods, *((unit.group,) if unit.group is not None else ()))
        unit_of.update(dict.fromkeys([item.meta.ref.uid for item in objects], unit.name))
    unit_of.pop(gang.owner.meta.ref.uid, None)
    by_unit: dict[str, list[int]] = defaultdict(list)
    for number, event in enumerate(gang.events):
        by_unit[unit_of.get(event.regarding.uid, "")].append(number)
    of_all = by_unit.get("", [])
    return tuple(
        replace(
            unit,
            events=tuple(
                gang.events[number] for number in sorted((*of_all, *by_unit.get(unit.name, ())))
            ),
            memory=gang.memory.get(unit.name, UnitMemory()),
        )
        for unit in units
    )
