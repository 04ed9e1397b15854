"""What to think about before one Job of an owner is suspended or resumed, whatever its lever: one sentence each."""

from __future__ import annotations

from gangboard.domain.action import ClusterLevers
from gangboard.domain.dependencies import reached_jobs
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are, out_of
from gangboard.facts.gang_index import GangIndex, is_paused
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind


def about_force(
    gang: GangIndex, job: Owner, kind: OwnerKind, lever: Lever, levers: ClusterLevers
) -> tuple[str, ...]:
    """Say what a bare suspend comes to that nobody was seen to leave alone."""
    pods, conduct = job.active_pods, kind.conduct
    cost = f"its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "its pods are"
    who = conduct.manager or f"the controller of {kind.label}s"
    when = conduct.undone_when(gang)
    undone = (
        f"Forced: nothing keeps one Job alone suspended here. {who} will likely undo it"
        f"{f' {when}' if when else ''}, and {cost} deleted and replaced all the same."
    )
    return (undone, *(lever.passed_over(gang, levers) if lever.passed_over is not None else ()))


def of_resume(gang: GangIndex, job: Owner) -> tuple[str, ...]:
    """Return what a person should know before this Job runs again."""
    found = []
    role = gang.roles.get(job.role_name)
    for dependency in role.depends_on if role is not None else ():
        on = gang.roles.get(dependency.role)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is not None and reached is not None and reached < on.replicas:
            found.append(
                f"{job.role_name} should wait until {on.name} is {dependency.status}, and "
                f"{out_of(reached, on.replicas, 'Job')} {is_or_are(reached)}: it starts all the same."
            )
    if job.suspended and is_paused(job):
        found.append(
            "It is paused as well (parallelism 0): resume it once more for its "
            f"{count(job.paused_parallelism or 0, 'pod')}."
        )
    return tuple(found)
