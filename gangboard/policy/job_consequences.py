"""Consequences of stopping or resuming Jobs of one owner.

Some consequences apply to a set of Jobs and not to each of them. A single Job is a set of one. One lever stops
all Jobs of a set, because their owner and its cluster determine the lever. The owner's kind adds the behaviour
of its controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gangboard.domain.action import ClusterLevers
from gangboard.domain.group import Policy, label_of_group
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are, names, out_of, plural
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import expected_pods, is_paused, requests_pods
from gangboard.facts.roles import reached_jobs
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import JobConduct, Jobs, OwnerKind
from gangboard.policy.phrases import they_are, wait_of


def set_warnings(gang: Gang, jobs: Jobs, lever: Lever) -> tuple[str, ...]:
    """Return warnings before a set of Jobs is stopped. The first one says that no other Job runs."""
    texts = [
        _last_running_warning(gang, jobs, lever),
        *_dependency_warnings(gang, jobs, lever),
        *_shared_group_warnings(gang, jobs, lever),
    ]
    return tuple(text for text in texts if text)


def stops_all(gang: Gang, jobs: Jobs, lever: Lever) -> bool:
    """Return whether the gang runs now, and no other Job of it runs or will start."""
    return _stops_all_running(gang, jobs) and not _roles_still_to_start(gang, jobs, lever)


def while_it_lasts(gang: Gang, conduct: JobConduct) -> str:
    """Return a warning that the controller will likely undo a forced suspend."""
    return (
        f"Forced: {conduct.manager} will likely undo each {conduct.undone_when(gang)}, and its pods are "
        "replaced. The rest holds only while it lasts."
    )


# Running Jobs


def _stops_all_running(gang: Gang, jobs: Jobs) -> bool:
    """Return whether all running Jobs are in the set. False if the owner is suspended, which stops all Jobs itself."""
    uids = _uids(jobs)
    return not gang.owner.suspended and bool(gang.running) and gang.running <= uids


def _roles_still_to_start(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    """Return the roles of other Jobs that will start by themselves.

    A missing Job, or one that is suspended without a Hold, starts when a dependency is met or a queue admits it.
    """
    uids, blocked = _uids(jobs), _blocked_roles(gang, jobs, lever)
    roles = {name: None for name, number in gang.missing_jobs.items() if number}
    for uid, job in gang.child_jobs.items():
        role = gang.roles.get(job.role_name)
        waits = bool(role and role.depends_on) or wait_of(gang, job) is not None
        stopped = not job.suspended or is_paused(job) or bool(gang.holds_on(job))
        if job.finish is None and uid not in uids and waits and not stopped:
            roles[job.role_name] = None
    return [name for name in roles if name not in blocked]


def _last_running_warning(gang: Gang, jobs: Jobs, lever: Lever) -> str:
    if not _stops_all_running(gang, jobs):
        return ""
    kind, name = gang.owner.meta.ref.kind, gang.name
    if gang.unfinished == 1:
        return f"It is the only unfinished Job of {name}: to stop all of it, suspend the {kind}."
    later = _roles_still_to_start(gang, jobs, lever)
    if later:
        return f"All that runs of {name} is stopped; only Jobs of {names(later)} can still start."
    if len(jobs) == 1:
        return (
            f"It is the last Job of {name} that is not stopped: nothing of it will run, while the "
            f"{kind} does not count as suspended."
        )
    return f"Nothing of {name} will run any more, and the {kind} does not count as suspended."


# Roles that depend on the Jobs


def _dependency_warnings(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    """Name the roles that depend on these Jobs. Roles without Jobs wait now, the others wait later.

    JobSet checks a dependency when it creates Jobs and when it is resumed (depends_on.go of v0.12). Running
    Jobs continue.
    """
    texts, state = [], lever.state
    now = _blocked_roles(gang, jobs, lever, only_absent=True)
    later = {name: on for name, on in _blocked_roles(gang, jobs, lever).items() if name not in now}
    if now:
        number = sum(gang.missing_jobs[name] for name in now)
        texts.append(
            f"{count(number, 'Job')} of {names(now)} {is_or_are(number)} not created while "
            f"{they_are(jobs)} {state}: {_dependency_text(now)}."
        )
    if later and lever.renewals:
        texts.append(
            f"After {lever.renewals} of {gang.name} the Jobs of {names(later)} do not start "
            f"while {they_are(jobs)} {state}: {_dependency_text(later)}."
        )
    return texts


def _dependency_text(blocked: dict[str, str]) -> str:
    on = dict.fromkeys(blocked.values())
    return f"{names(blocked)} {plural(len(blocked), 'depend')} on {names(on)}"


def _blocked_roles(
    gang: Gang, jobs: Jobs, lever: Lever, *, only_absent: bool = False
) -> dict[str, str]:
    """Return role that cannot start without these Jobs → the role of the Jobs that blocks it, directly or indirectly.

    `only_absent` leaves out roles with existing Jobs. Roles whose Jobs are all stopped are also left out. A Job
    at parallelism 0 counts as ready.
    """
    chosen = Counter(job.role_name for job in jobs)
    origins = dict.fromkeys(chosen)
    stopped = {
        role for role, number in chosen.items() if gang.unfinished_by_role.get(role, 0) <= number
    }
    blocked: dict[str, str] = {}
    waiting = [(name, name) for name in origins]
    for blocker, origin in waiting:
        for role in gang.dependents.get(blocker, ()):
            unmet = any(
                on.role == blocker
                and (blocker not in origins or on.status == "Complete" or not lever.counts_as_ready)
                for on in role.depends_on
            )
            if only_absent and not gang.missing_jobs[role.name]:
                continue
            if (
                unmet
                and role.name != origin
                and role.name not in stopped
                and role.name not in blocked
            ):
                blocked[role.name] = origin
                waiting.append((role.name, origin))
    return blocked


# Shared groups


def _shared_group_warnings(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    shared = Counter(job.group_name for job in jobs if job.group_name)
    return [_shared_group_warning(gang, jobs, lever, group, own) for group, own in shared.items()]


def _shared_group_warning(gang: Gang, jobs: Jobs, lever: Lever, name: str, own: int) -> str:
    """Return the effect on a PodGroup that other Jobs also name (observed on 1.37.0), or empty.

    `own` is the number of these Jobs that name it.
    """
    sharers, state = gang.jobs_per_group.get(name, 0) - own, lever.state
    if sharers < 1:
        return ""
    group, is_single = gang.pod_groups.get(name), len(jobs) == 1
    subject = "It shares" if is_single else f"{own} of them {plural(own, 'share')}"
    shares = f"{subject} {label_of_group(name)} with {count(sharers, 'other Job')}"
    if group is None:
        return (
            f"{shares}; its quorum is not known. If it counts the pods of "
            f"{'this Job' if is_single else 'these Jobs'}, a pod that another one loses is never replaced "
            f"while {'this one is' if is_single else 'they are'} {state}."
        )
    if group.policy is not Policy.GANG or group.quorum is None:
        return ""
    taken = sum(expected_pods(job) for job in jobs if job.group_name == name and requests_pods(job))
    remaining = gang.expected_pods.get(name, 0) - taken
    if remaining >= group.quorum:
        return ""
    renewal = lever.renewals
    later = f", and after {renewal} of {gang.name} no pod of the group is placed"
    return (
        f"{shares}, whose quorum is {count(group.quorum, 'pod')}; {remaining} would remain. A lost "
        f"sibling can never be replaced while {'this Job is' if is_single else 'these Jobs are'} {state}"
        f"{later if renewal else ''}."
    )


def _uids(jobs: Iterable[Owner]) -> frozenset[str]:
    return frozenset(job.meta.ref.uid for job in jobs)


# One Job, with any lever


def force_warnings(
    gang: Gang, job: Owner, kind: OwnerKind, lever: Lever, levers: ClusterLevers
) -> tuple[str, ...]:
    """Return warnings about a forced suspend, which the controller may undo."""
    pods, conduct = job.active_pods, kind.conduct
    cost = f"its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "its pods are"
    manager = conduct.manager or f"the controller of {kind.label}s"
    when = conduct.undone_when(gang)
    undone = (
        f"Forced: nothing keeps one Job alone suspended here. {manager} will likely undo it"
        f"{f' {when}' if when else ''}, and {cost} deleted and replaced all the same."
    )
    return (undone, *lever.fallback_warnings(gang, levers))


def overlap_warnings(jobs: Iterable[Owner]) -> list[str]:
    """Return a warning if old pods would run beside the new ones of the Jobs that are resumed.

    A Job replaces its terminating pods at once, unless its `podReplacementPolicy` is `Failed` (relocate.md §7).
    """
    number = sum(job.terminating_pods for job in jobs if not job.waits_for_terminating)
    if not number:
        return []
    old = count(number, "old pod")
    return [
        f"{old} still {plural(number, 'terminate')}, and new pods do not wait for that: an index may run twice at once."
    ]


def resume_warnings(gang: Gang, job: Owner) -> tuple[str, ...]:
    """Return warnings before a Job is resumed."""
    warnings = overlap_warnings([job])
    role = gang.roles.get(job.role_name)
    for dependency in role.depends_on if role is not None else ():
        on = gang.roles.get(dependency.role)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is not None and reached is not None and reached < on.replicas:
            warnings.append(
                f"{job.role_name} should wait until {on.name} is {dependency.status}, and "
                f"{out_of(reached, on.replicas, 'Job')} {is_or_are(reached)}: it starts all the same."
            )
    if job.suspended and is_paused(job):
        warnings.append(
            "It is paused as well (parallelism 0): resume it once more for its "
            f"{count(job.paused_parallelism or 0, 'pod')}."
        )
    return tuple(warnings)
