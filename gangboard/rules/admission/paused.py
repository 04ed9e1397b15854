"""`paused`: the owner or its Jobs request no pods: it is scaled to zero, or has `parallelism: 0`.

Kubernetes documents 0 as pausing a Job. JobSet still counts such a Job as ready (observed on 1.37.0 with JobSet
v0.12.0, real-control-plane.md §3). The Job is not suspended, so the sentence says paused.

The sentence says which person paused a Job or scaled an owner to zero, when and why. A pause by a person has no next step.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.suspension import Suspension
from gangboard.domain.text import label, names, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.copied_commands import patch_command
from gangboard.facts.findings import unit_finding
from gangboard.facts.suspensions import authors_text, pause_of
from gangboard.facts.unit import Unit, is_paused, is_scaled_to_zero
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if nothing of the unit that could run requests pods."""
    if is_paused(unit):
        jobs = unit.active_jobs
    elif is_scaled_to_zero(unit):
        jobs = (unit.owner,) if unit.owner.parallelism == 0 else ()
    else:
        return None
    if not jobs:
        ref = unit.owner.meta.ref
        return unit_finding(
            RULE,
            unit,
            _with_authors(f"{label(ref)} requests no pods.", [pause_of(unit.gang, unit.owner)]),
            evidence=(Evidence("pods", "0", ref),),
        )
    listed = names(job.meta.ref.name for job in jobs)
    verb = "requests" if len(jobs) == 1 else "request"
    subject = f"Job {listed}" if len(jobs) == 1 else f"Jobs {listed}"
    pauses = [pause_of(unit.gang, job) for job in jobs]
    return unit_finding(
        RULE,
        unit,
        _with_authors(f"{subject} {verb} no pods: parallelism is 0.", pauses),
        advice=()
        if all(pause and pause.by_person for pause in pauses)
        else (_advice(unit, jobs, subject),),
        evidence=tuple(Evidence("spec.parallelism", "0", job.meta.ref) for job in jobs),
    )


def _with_authors(state: str, pauses: Sequence[Suspension | None]) -> str:
    """Return the sentence behind the one that says who paused them, if that is known."""
    authors = authors_text(pauses)
    return f"{sentence(f'Paused {authors}')} {state}" if authors else state


def _advice(unit: Unit, jobs: tuple[Owner, ...], subject: str) -> AdvisedStep | str:
    """Return the step that starts the Jobs again, with the parallelism from before the pause if that is known."""
    old_parallelism = jobs[0].paused_parallelism if len(jobs) == 1 else None
    number = f"back to {old_parallelism}" if old_parallelism else "above 0"
    changed_object = ChangedObject.JOB if unit.quorum is None else ChangedObject.GANG_JOB
    method = change_method(AdviceKind.SIZE, changed_object, unit.gang.cluster.kubernetes)
    text = f"Set spec.parallelism of {subject} {number} ({method})."
    if not old_parallelism or method is not ChangeMethod.IN_PLACE:
        return text
    ref = jobs[0].meta.ref
    patch = patch_command(unit.gang.traits_of(ref), ref, {"parallelism": old_parallelism})
    return AdvisedStep(text, command=patch)


RULE = UnitRule("paused", Stage.ADMISSION, "Paused", 40, find, health=Health.SUSPENDED)
