"""What comes of stopping some Jobs of one owner together: true of the set, not of each of its Jobs.

One Job is the set that has one. All Jobs of a set are stopped with one lever: their owner and its
cluster decide which one that is. What the owner's kind does by itself, its file in `owners/` tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gangboard.domain.group import Policy, label_of_group
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are, names, plural
from gangboard.facts.gang import Gang, asks_for_pods, is_paused, seats_of
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import JobConduct, Jobs
from gangboard.policy.phrases import they_are


def warnings(gang: Gang, jobs: Jobs, lever: Lever) -> tuple[str, ...]:
    """Return what to know before they are stopped; nothing that runs any more comes first."""
    found = [
        _last_running(gang, jobs, lever),
        *_dependents(gang, jobs, lever),
        *_shared_groups(gang, jobs, lever),
    ]
    return tuple(text for text in found if text)


def stops_all(gang: Gang, jobs: Jobs, lever: Lever) -> bool:
    """Whether something of the gang runs now and nothing will: no Job that is left runs or will start."""
    return _stops_what_runs(gang, jobs) and not _still_to_start(gang, jobs, lever)


def while_it_lasts(gang: Gang, conduct: JobConduct) -> str:
    """Say that a forced suspend is likely undone, with all that follows from it."""
    return (
        f"Forced: {conduct.manager} will likely undo each {conduct.undone_when(gang)}, and its pods are "
        "replaced. The rest holds only while it lasts."
    )


# What runs


def _stops_what_runs(gang: Gang, jobs: Jobs) -> bool:
    """Whether all that runs is among them. An owner that is suspended stops the rest by itself."""
    uids = _uids(jobs)
    return not gang.owner.suspended and bool(gang.running) and gang.running <= uids


def _still_to_start(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    """Return the roles of other Jobs that will start by themselves: nothing stopped waits for them.

    A Job that is not made, or is suspended without a Hold, starts when a dependency is met or a queue
    admits it.
    """
    uids, blocked = _uids(jobs), _blocked(gang, jobs, lever)
    roles = {name: None for name, number in gang.absent.items() if number}
    for uid, job in gang.child_jobs.items():
        role = gang.roles.get(job.role_name)
        waits = bool(role and role.depends_on) or gang.wait_of(job) is not None
        stopped = not job.suspended or is_paused(job) or bool(gang.holds_on(job))
        if job.finish is None and uid not in uids and waits and not stopped:
            roles[job.role_name] = None
    return [name for name in roles if name not in blocked]


def _last_running(gang: Gang, jobs: Jobs, lever: Lever) -> str:
    if not _stops_what_runs(gang, jobs):
        return ""
    kind, name = gang.owner.meta.ref.kind, gang.name
    if gang.unfinished == 1:
        return f"It is the only unfinished Job of {name}: to stop all of it, suspend the {kind}."
    later = _still_to_start(gang, jobs, lever)
    if later:
        return f"All that runs of {name} is stopped; only Jobs of {names(later)} can still start."
    if len(jobs) == 1:
        return (
            f"It is the last Job of {name} that is not stopped: nothing of it will run, while the "
            f"{kind} does not count as suspended."
        )
    return f"Nothing of {name} will run any more, and the {kind} does not count as suspended."


# What waits for them


def _dependents(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    """Name the roles that depend on them: those not made yet wait now, the others later.

    A dependency is looked at when Jobs are made and when their owner is resumed (depends_on.go, JobSet
    v0.12); what runs already runs on.
    """
    found, state = [], lever.state
    now = _blocked(gang, jobs, lever, only_absent=True)
    later = {name: on for name, on in _blocked(gang, jobs, lever).items() if name not in now}
    if now:
        number = sum(gang.absent[name] for name in now)
        found.append(
            f"{count(number, 'Job')} of {names(now)} {is_or_are(number)} not made while "
            f"{they_are(jobs)} {state}: {_depend(now)}."
        )
    if later and lever.renewals:
        found.append(
            f"After {lever.renewals} of {gang.name} the Jobs of {names(later)} do not start "
            f"while {they_are(jobs)} {state}: {_depend(later)}."
        )
    return found


def _depend(blocked: dict[str, str]) -> str:
    on = dict.fromkeys(blocked.values())
    return f"{names(blocked)} {plural(len(blocked), 'depend')} on {names(on)}"


def _blocked(gang: Gang, jobs: Jobs, lever: Lever, *, only_absent: bool = False) -> dict[str, str]:
    """Return the roles that cannot start without these Jobs → the role of theirs it comes down to.

    Directly or through each other. `only_absent`: of roles whose Jobs exist nothing is said, and
    nothing waits for them in vain. A Job at parallelism 0 counts as ready. Roles that are stopped as
    a whole are not named.
    """
    chosen = Counter(job.role_name for job in jobs)
    origins = dict.fromkeys(chosen)
    whole = {role for role, number in chosen.items() if gang.open_roles.get(role, 0) <= number}
    found: dict[str, str] = {}
    waiting = [(name, name) for name in origins]
    for blocker, origin in waiting:
        for role in gang.dependents.get(blocker, ()):
            unmet = any(
                on.role == blocker
                and (blocker not in origins or on.status == "Complete" or not lever.counts_as_ready)
                for on in role.depends_on
            )
            if only_absent and not gang.absent[role.name]:
                continue
            if unmet and role.name != origin and role.name not in whole and role.name not in found:
                found[role.name] = origin
                waiting.append((role.name, origin))
    return found


# The group that they share with others


def _shared_groups(gang: Gang, jobs: Jobs, lever: Lever) -> list[str]:
    shared = Counter(job.group_name for job in jobs if job.group_name)
    return [_shared_group(gang, jobs, lever, group, own) for group, own in shared.items()]


def _shared_group(gang: Gang, jobs: Jobs, lever: Lever, name: str, own: int) -> str:
    """Say what is left of a PodGroup that other Jobs name too (observed on 1.37.0).

    `own`: how many of the Jobs name it.
    """
    others, state = gang.sharers.get(name, 0) - own, lever.state
    if others < 1:
        return ""
    group, one = gang.pod_groups.get(name), len(jobs) == 1
    who = "It shares" if one else f"{own} of them {plural(own, 'share')}"
    shares = f"{who} {label_of_group(name)} with {count(others, 'other Job')}"
    if group is None:
        return (
            f"{shares}; its quorum is not known. If it counts the pods of "
            f"{'this Job' if one else 'these Jobs'}, a pod that another one loses is never replaced "
            f"while {'this one is' if one else 'they are'} {state}."
        )
    if group.policy is not Policy.GANG or group.quorum is None:
        return ""
    taken = sum(seats_of(job) for job in jobs if job.group_name == name and asks_for_pods(job))
    left = gang.seats.get(name, 0) - taken
    if left >= group.quorum:
        return ""
    renewal = lever.renewals
    later = f", and after {renewal} of {gang.name} no pod of the group is placed"
    return (
        f"{shares}, whose quorum is {count(group.quorum, 'pod')}; {left} would remain. A lost "
        f"sibling can never be replaced while {'this Job is' if one else 'these Jobs are'} {state}"
        f"{later if renewal else ''}."
    )


# Words


def _uids(jobs: Iterable[Owner]) -> frozenset[str]:
    return frozenset(job.meta.ref.uid for job in jobs)
