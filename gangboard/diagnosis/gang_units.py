"""Divides a gang into its units: what gets a stage of its own.

Each PodGroup (1.35: entry of a Workload) with pods, Jobs or roles of the gang is one, named after
its Job when it is for that Job alone; not one that keeps nobody together (`loose_groups`). So is each child Job in no group, and so are together the
missing Jobs of each role in no group, and the pods that the owner makes itself: those of each role
where its kind tells their roles apart, else all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gangboard.diagnosis.bare_objects import group_size, loose_groups, pods_by_group
from gangboard.diagnosis.current_attempt import natural, pods_by_job
from gangboard.diagnosis.object_links import COMPOSITE, POD_GROUP, WORKLOAD
from gangboard.diagnosis.workload_entries import takes_pods
from gangboard.domain.group import Group, Policy
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import GangFacts, Unit
from gangboard.facts.replicas import name_of_several
from gangboard.plugins import registry

MOST_APART = 64
"""The number of units without any object that are judged one by one. All further ones are one unit, with a count.
An object of 1 MB has room for 20,000 roles."""


@dataclass(slots=True)
class _Share:
    """What of a gang goes into one unit."""

    jobs: list[Owner] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    """Also those that no Job of the unit has made."""
    roles: dict[str, Role] = field(default_factory=dict)
    missing: list[tuple[str, Role]] = field(default_factory=list)
    """Child Jobs that do not exist, each with its role."""
    own: int = 0
    """Pods that the owner makes itself for these roles."""


def units(facts: GangFacts) -> tuple[Unit, ...]:
    """Return the units of a gang, at least one, each with another name."""
    return _with_events(facts, _unique(_Division(facts).units()))


class _Division:
    """Deals Jobs, pods and roles out to groups, Jobs and roles."""

    def __init__(self, facts: GangFacts) -> None:
        self._facts = facts
        self._groups = {group.name: group for group in facts.groups if takes_pods(group)}
        self._made_by = {
            maker.uid: name
            for name, group in reversed(self._groups.items())
            if (maker := _maker(group)) is not None
        }
        self._pods_of = pods_by_job(facts.pods, facts.jobs)
        self._foreign_pods = pods_by_group(facts.foreign_pods)
        self._loose = loose_groups(facts.groups, (*facts.pods, *facts.foreign_pods))
        self._roles = {role.name: role for role in facts.owner.roles}
        self._role_of_child = {
            name: role.name for role in facts.owner.roles for name in role.child_names
        }
        self._made = {job.meta.ref.name for job in facts.jobs}
        self._jobs_of: dict[str, list[Owner]] = defaultdict(list)
        for job in facts.jobs:
            self._jobs_of[self._role_name(job)].append(job)
        self._by_template: dict[str, list[str]] = defaultdict(list)
        for name, group in self._groups.items():
            self._by_template[group.template_name].append(name)
        self._only_group = self._group_of_owner()
        self._group_of = {job.meta.ref.uid: self._group_of_job(job) for job in facts.jobs}
        self._in_group: dict[str, _Share] = defaultdict(_Share)
        self._in_job: dict[str, _Share] = {}
        self._in_role: dict[str, _Share] = {}
        self._rest: list[Pod] = []
        ref = facts.owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        self._role_of = kind.role_of if kind and kind.overrides("role_of") else None
        self._group_by_pods = self._groups_of_roles()

    def units(self) -> Iterator[Unit]:
        """Yield groups, then Jobs, missing Jobs of roles, and the owner's own pods."""
        for job in self._facts.jobs:
            self._deal_job(job)
        for role in self._facts.owner.roles:
            self._deal_role(role)
        for pod in self._facts.pods:
            self._deal_pod(pod)
        if self._facts.owner.meta.ref.kind in (POD_GROUP, COMPOSITE, WORKLOAD):
            for name in self._groups.keys() - self._loose:
                self._in_group.setdefault(name, _Share())  # also without pods
        groups = {name: self._in_group[name] for name in sorted(self._in_group, key=natural)}
        # A role that asks for nothing is none, as long as others ask for something.
        roles = {
            name: share
            for name, share in self._in_role.items()
            if share.own or share.missing or share.pods
        }
        found = [self._group_unit(*one) for one in _told_apart(groups, self._groups)]
        found += [self._job_unit(share) for share in self._in_job.values()]
        found += [self._role_unit(*one) for one in _told_apart(roles)]
        if self._rest or not found:
            found.append(self._owner_unit(found))
        yield from found

    # Which group a Job or role is in

    def _group_named(self, pod: Pod) -> str:
        """Return the group that keeps a pod together with others; empty for none."""
        return "" if pod.group_name in self._loose else pod.group_name

    def _group_of_owner(self) -> str:
        """Return the PodGroup that the owner made for all of its Jobs, when it made just one.

        Planned for JobSet v0.13 (`spec.scheduling: {}`): until pods exist, nothing else tells.
        """
        makers = {one.meta.ref.uid for one in self._facts.makers if not one.meta.ref.is_job}
        made = [
            name
            for name, group in self._groups.items()
            if (maker := _maker(group)) is not None and maker.uid in makers
        ]
        return made[0] if len(made) == 1 and made[0] not in self._loose else ""

    def _group_of_job(self, job: Owner) -> str:
        """Return the group that a Job's pods are in or will be in; empty for none.

        Pods that exist tell; before that its template, the group that the Job controller made for
        it, the template that its owner names, or the owner's only group.
        """
        pods = self._pods_of[job.meta.ref.uid]
        if pods:
            names = Counter(name for pod in pods if (name := self._group_named(pod)))
            return max(names, key=lambda name: (names[name], name), default="")
        if job.group_name:
            return job.group_name
        if job.meta.ref.uid in self._made_by:
            return self._made_by[job.meta.ref.uid]
        if job.delegated_template:
            made = self._by_template[job.delegated_template]
            return made[0] if len(made) == 1 else ""
        return self._only_group

    def _group_of_role(self, role: Role, jobs: list[Owner]) -> str:
        """Return the group that the missing Jobs of a role will be in.

        That of its template, or the one that all of its Jobs share; a group made by a Job is its
        own.
        """
        if role.group_name:
            return role.group_name
        if self._makes_pods(role):
            return self._group_by_pods.get(role.name, self._only_group)
        names = {self._group_of[job.meta.ref.uid] for job in jobs} or {self._only_group}
        name = names.pop() if len(names) == 1 else ""
        group = self._groups.get(name)
        maker = _maker(group) if group is not None else None
        own = maker is not None and maker.is_job
        return "" if own else name

    def _groups_of_roles(self) -> dict[str, str]:
        """Return role → the group that most of its pods name, or none, of roles without Jobs that have pods."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in self._facts.pods if self._role_of is not None else ():
            if self._role_of is not None:
                found[self._role_of(pod)][self._group_named(pod)] += 1
        return {
            role: max(names, key=lambda name: (bool(name), names[name], name))
            for role, names in found.items()
        }

    # Dealing out

    def _deal_job(self, job: Owner) -> None:
        name = self._group_of[job.meta.ref.uid]
        share = self._in_group[name] if name else self._in_job.setdefault(_uid(job), _Share())
        share.jobs.append(job)
        role = self._roles.get(self._role_name(job))
        if role is not None:
            share.roles[role.name] = role

    def _deal_role(self, role: Role) -> None:
        missing = [(name, role) for name in role.child_names if name not in self._made]
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
            share.own += role.replicas * role.pods

    def _role_name(self, job: Owner) -> str:
        """Return the role of a child Job: by its label, or by its name where it has none."""
        return job.role_name or self._role_of_child.get(job.meta.ref.name, "")

    def _makes_pods(self, role: Role) -> bool:
        """Whether the owner makes the pods of a role itself, without Jobs."""
        return self._role_of is not None and not role.child_names

    def _deal_pod(self, pod: Pod) -> None:
        controller = pod.meta.controller
        job = self._group_of.get(controller.uid) if controller is not None else None
        group = self._group_named(pod)
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
        made = [job.meta.ref.name for job in share.jobs] + [job for job, _ in share.missing]
        bare = self._pods_without_job(share)
        is_of_job = len(made) == 1 and not bare and not foreign_pods
        unit = self._unit(made[0] if is_of_job else name, "Job" if is_of_job else "group", share)
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
        """Return how many pods a group should have beside those of its Jobs and roles."""
        if share.own:
            return max(0, len(bare) - share.own)
        if share.jobs or share.missing:
            return len(bare)
        owner = self._facts.owner
        if len(self._in_group) == 1 and not self._in_job and not self._in_role:
            return max(0, owner.desired - len(self._rest))
        if group is None or owner.meta.ref.kind not in (COMPOSITE, WORKLOAD):
            return len(bare)
        own = [pod for pod in share.pods if pod.group_name == group.name]
        return group_size(group, own, self._foreign_pods.get(group.name, []))

    def _pods_without_job(self, share: _Share) -> list[Pod]:
        jobs = {_uid(job) for job in share.jobs}
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

    def _owner_unit(self, others: list[Unit]) -> Unit:
        """Return the unit of what the owner makes without a Job or group in between."""
        owner = self._facts.owner
        rest = owner.desired - sum(unit.desired for unit in others)
        unit = self._unit(owner.meta.ref.name, owner.meta.ref.kind, _Share(pods=self._rest))
        desired = max(rest, len(self._rest)) if others else owner.desired
        return replace(unit, desired=desired)

    def _unit(self, name: str, noun: str, share: _Share) -> Unit:
        suspended = () if self._facts.owner.suspended else map(_held, share.jobs)
        return Unit(
            facts=self._facts,
            name=name,
            noun=noun,
            desired=sum(job.desired for job in share.jobs)
            + sum(role.pods for _, role in share.missing)
            + share.own,
            quorum=None,
            jobs=tuple(share.jobs),
            roles=tuple(share.roles.values()),
            pods=tuple(share.pods),
            held=sum(suspended),
            missing_jobs=tuple(name for name, _ in share.missing),
        )


def _told_apart(
    shares: Mapping[str, _Share], groups: Container[str] = ()
) -> Iterator[tuple[str, _Share]]:
    """Yield the shares of units by name. All shares without any object beyond `MOST_APART` are merged.

    `groups` has the names of the groups that exist.
    """
    absent = [
        name
        for name, share in shares.items()
        if not share.jobs and not share.pods and name not in groups
    ]
    counted = dict.fromkeys(absent[MOST_APART:] if len(absent) > MOST_APART + 1 else ())
    yield from ((name, share) for name, share in shares.items() if name not in counted)
    if counted:
        rest = _Share()
        for name in counted:
            rest.roles.update(shares[name].roles)
            rest.missing += shares[name].missing
            rest.own += shares[name].own
        yield name_of_several(next(iter(counted)), len(counted)), rest


def _maker(group: Group) -> Controller | None:
    """Return what made a group for its own pods. An entry (1.35) is only in by being named."""
    return group.meta.controller if group.entry is None else None


def _uid(job: Owner) -> str:
    return job.meta.ref.uid


def _held(job: Owner) -> int:
    return job.desired if job.suspended and job.finish is None else 0


def _unique(found: Iterable[Unit]) -> list[Unit]:
    """Return the units, a name that is taken replaced by that of the group, or numbered."""
    taken: dict[str, Unit] = {}
    for unit in found:
        name, noun, number = unit.name, unit.noun, 2
        if name in taken and unit.group_name and unit.group_name not in taken:
            name, noun = unit.group_name, "group"
        while name in taken:
            name, number = f"{unit.name} ({number})", number + 1
        is_named = (name, noun) == (unit.name, unit.noun)
        taken[name] = unit if is_named else replace(unit, name=name, noun=noun)
    return list(taken.values())


def _with_events(facts: GangFacts, found: list[Unit]) -> tuple[Unit, ...]:
    """Return the units with their memory and the events about them or about no unit in particular."""
    unit_of: dict[str, str] = {}
    for unit in found:
        things = (*unit.jobs, *unit.pods, *((unit.group,) if unit.group is not None else ()))
        unit_of.update(dict.fromkeys((thing.meta.ref.uid for thing in things), unit.name))
    unit_of.pop(facts.owner.meta.ref.uid, None)
    by_unit: dict[str, list[int]] = defaultdict(list)
    for number, event in enumerate(facts.events):
        by_unit[unit_of.get(event.regarding.uid, "")].append(number)
    of_all = by_unit.get("", [])
    return tuple(
        replace(
            unit,
            events=tuple(
                facts.events[number] for number in sorted((*of_all, *by_unit.get(unit.name, ())))
            ),
            memory=facts.memory.get(unit.name, UnitMemory()),
        )
        for unit in found
    )
