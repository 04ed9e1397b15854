"""Resumes one Job of an owner by undoing what is there: a Hold, a pause, or a bare suspend."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.policy import job_warnings, refusals
from gangboard.policy.decision import (
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
)
from gangboard.policy.pulled import Pulled


def decide(gang: Gang, job: Owner, desired: DesiredAction) -> Pulled | PlanRefusal:
    """Return how a child Job is resumed, or why it is not."""
    name = label(job.meta.ref)
    if desired.until is not None:
        return refusals.until_misplaced(desired.verb, name)
    blocked = refusals.job_out_of_reach(gang, job)
    there = [one for one in registry.levers() if one.undoes is not None and one.undoes(gang, job)]
    free = next((lever for lever in there if lever.needs_nothing), None)
    if free is not None:
        return _pull(free, gang, job, replace(desired, blocked=blocked))
    refused = blocked or generation_unknown(job.meta)
    if refused is not None:
        return refused
    if there:
        return _pull(there[0], gang, job, desired)
    if not job.suspended:
        state = "asks for no pods (parallelism 0), which gangboard did not set"
        return nothing_to_do(f"{name} {'is not suspended' if job.parallelism != 0 else state}")
    wait = gang.wait_of(job)
    if wait is not None:
        return PlanRefusal(f"{wait.why}: {name} starts when {wait.until}.")
    bare = next((lever for lever in registry.levers() if lever.is_bare), None)
    return _pull(bare, gang, job, desired) if bare else refusals.no_job_lever(gang, job)


def _pull(lever: Lever, gang: Gang, job: Owner, desired: DesiredAction) -> Pulled | PlanRefusal:
    found = lever.resume(gang, job, desired)
    if isinstance(found, PlanRefusal):
        return found
    more = job_warnings.of_resume(gang, job) if found.resumes else ()
    return Pulled(lever, replace(found, warnings=(*found.warnings, *more)))
