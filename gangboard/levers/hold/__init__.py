"""`hold`: one Job, kept suspended by a Hold even if its controller resumes it.

The admission policy of the Hold (`domain.hold_manifest`) rejects every resume of the Job, so the Job stays
suspended when its owner restarts. A dry run proves that before the Job is suspended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from gangboard.domain.action import ClusterLevers, Step, StepKind, Verb
from gangboard.domain.hold import HOLD_LEVER, Hold
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.levers.hold.confirmation_texts import (
    cluster_warnings,
    end_sentences,
    existing_hold_sentences,
    hold_names,
    meaning_of_hold,
    meaning_of_release,
    other_holder_warnings,
    parent_of,
    proof_sentence,
    release_reactions,
    removal_sentences,
)
from gangboard.levers.hold.readiness import hold_readiness, installation_refusal
from gangboard.levers.hold.requests import create_hold, created_holds, delete_hold, hold_name
from gangboard.plugins.lever import CreatedResource, Lever, LeverState
from gangboard.policy.decision import (
    PROVED_SECONDS,
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    yaml_value,
)
from gangboard.policy.exclusions import (
    Exclusion,
    exclude_step,
    exclusion_sentences,
    read_exclusion,
)
from gangboard.policy.phrases import job_resumed, moment, pods_of_job, wait_of
from gangboard.policy.requests import prove, restart_job, resume_job, suspend_job


class HoldLever(Lever):
    """A Hold on one Job."""

    key = HOLD_LEVER
    position = 20
    label = "Hold"
    title = "Hold one Job"
    done = "Held"
    applied = "Suspended"
    state = "held"
    after_restart = "re-created suspended: the Hold stays"
    renewals = "a restart or a resume"
    undo_buttons: Mapping[str, str] = {"Hold": "Release", "Release": "Hold"}
    writes = ("spec", "suspend")
    lasts = True
    supports_end = True
    can_always_resume = True

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return the creation of a Hold, or its removal."""
        decide = _suspend if desired.verb is Verb.SUSPEND else _resume
        return decide(gang, subject, desired)

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return whether the Hold is installed, and its last proof."""
        return hold_readiness(levers, closed_reason)

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse a cluster whose Hold is known to be missing or changed. Elsewhere the dry run decides."""
        return installation_refusal(levers)

    def describe_stop(self, gang: Gang, job: Owner) -> str:
        """Return the Hold that keeps the Job suspended, or empty."""
        holds = gang.holds_on(job)
        if not (job.suspended and holds):
            return ""
        by = f" of {holds[0].by}" if holds[0].by else ""
        return f"held already, by Hold {holds[0].meta.ref.name}{by}"

    def has_undoable_change(self, gang: Gang, job: Owner) -> bool:
        """Return whether the Job has a Hold."""
        return bool(gang.holds_on(job))

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource:
        """Return the resource Hold, with conditions for Holds of gangboard."""
        return created_holds(parents)


def _suspend(gang: Gang, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    """Create a Hold unless the Job has one, prove it and suspend the Job."""
    refused = _refuse_end(gang, job, desired)
    if refused is not None:
        return refused
    holds = gang.holds_on(job)
    name = holds[0].meta.ref.name if holds else hold_name(job.meta.ref.name, desired.action)
    return Decision(
        partial(_hold_steps, gang, job, desired, not holds),
        before={"spec.suspend": yaml_value(job.suspended), "Hold": name if holds else "none"},
        after={"spec.suspend": "true", "Hold": name},
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *existing_hold_sentences(holds),
            pods_of_job(gang, job),
            proof_sentence(desired.levers),
            f"The Hold keeps it suspended while {gang.name} is restarted, or suspended and "
            f"resumed; it goes when {parent_of(job)} is deleted.",
            *end_sentences(desired),
        ),
        warnings=cluster_warnings(desired.levers),
        label="Hold" if job.suspended else "",
        meaning=meaning_of_hold(gang, job) if job.suspended else "",
    )


def _refuse_end(gang: Gang, job: Owner, desired: DesiredAction) -> PlanRefusal | None:
    until = desired.until
    if until is None:
        return None
    if until <= desired.now:
        return PlanRefusal(f"The end {moment(until)} is past: a Hold needs a later one.")
    holds = gang.holds_on(job)
    if holds and all(hold.until != until.replace(microsecond=0) for hold in holds):
        return PlanRefusal(
            f"{label(job.meta.ref)} has Hold {holds[0].meta.ref.name} already, which has another "
            "end: leave out the end, or resume the Job first."
        )
    return None


def _hold_steps(gang: Gang, job: Owner, desired: DesiredAction, create: bool) -> tuple[Step, ...]:
    # API servers know a new Hold after 30 to 55 ms (observed).
    proof = prove(StepKind.PROVE_HOLD, gang, job, "is turned back")
    patch = suspend_job(gang, job, desired.action, suspend=True)
    return (create_hold(gang, job, desired), proof, patch) if create else (proof, patch)


def _resume(gang: Gang, job: Owner, desired: DesiredAction) -> Decision:
    """Remove the Holds. Resume the Job if no other Hold remains and the Job may run."""
    holds, blocked = gang.holds_on(job), desired.blocked or generation_unknown(job.meta)
    remaining = tuple(hold for hold in holds if desired.ended_hold not in ("", hold.meta.ref.uid))
    removed = tuple(hold for hold in holds if hold not in remaining)
    waits = blocked is not None or wait_of(gang, job) is not None
    is_release_only = bool(remaining) or waits or not job.suspended
    suspend = yaml_value(job.suspended)
    return Decision(
        partial(_release_steps, gang, job, desired, removed, is_release_only),
        before={"spec.suspend": suspend, "Hold": hold_names(holds)},
        after={
            "spec.suspend": suspend if is_release_only else "false",
            "Hold": hold_names(remaining),
        },
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *removal_sentences(removed),
            *exclusion_sentences(_excluded(job)),
            *(
                release_reactions(gang, job, remaining, blocked.why if blocked else "")
                if is_release_only
                else job_resumed(gang, job)
            ),
        ),
        warnings=other_holder_warnings(removed, desired.by),
        resumes=not is_release_only,
        label="Release" if is_release_only else "",
        meaning=meaning_of_release(gang, job, remaining, blocked=blocked is not None)
        if is_release_only
        else "",
    )


def _release_steps(
    gang: Gang, job: Owner, desired: DesiredAction, holds: tuple[Hold, ...], is_release_only: bool
) -> tuple[Step, ...]:
    removed = tuple(delete_hold(gang, hold) for hold in holds)
    if _excluded(job) is None:
        return removed if is_release_only else removed + resume_job(gang, job, desired.action)
    cleaned = (exclude_step(gang, job, desired.action, None), *removed)
    if is_release_only:
        return cleaned
    # The removal of the exclusion changes the generation, which the usual resume tests.
    proof = prove(StepKind.PROVE_RELEASE, gang, job, "is let through")
    return (*cleaned, proof, restart_job(gang, job, desired.action))


def _excluded(job: Owner) -> Exclusion | None:
    """Return the exclusion that the resume removes. The template can change only while the Job is suspended."""
    return read_exclusion(job.exclusion) if job.suspended else None
