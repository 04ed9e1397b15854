"""`hold`: one Job, kept suspended by a Hold whatever its controller does.

The policy of the Hold (`domain.hold_manifest`) turns every resume of the Job back, so it lasts through
restarts of what made the Job. It is proved by a dry run before anything is suspended.
"""

from __future__ import annotations

from functools import partial

from gangboard.domain.action import ClusterLevers, PolicyState, Step, StepKind
from gangboard.domain.hold import HOLD_LEVER, Hold
from gangboard.domain.owner import Owner
from gangboard.domain.roles_command import roles_command
from gangboard.domain.text import label, sentence
from gangboard.facts.gang import Gang
from gangboard.levers.hold.limits import makes
from gangboard.levers.hold.steps import create_hold, delete_hold, hold_name
from gangboard.levers.hold.words import (
    about_cluster,
    about_end,
    about_holders,
    about_proof,
    about_there,
    meaning_of_hold,
    meaning_of_release,
    names_of,
    of_release,
    of_removal,
    parent_of,
)
from gangboard.plugins.lever import Lever, LeverState, Readiness
from gangboard.policy.decision import (
    PROVED_SECONDS,
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    shown,
)
from gangboard.policy.phrases import job_resumed, moment, pods_of_job
from gangboard.policy.requests import prove, resume_job, suspend_job

_SMALL = ("The ", "A ", "An ", "No ", "It ", "Its ", "This ")


def _suspend(gang: Gang, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return create, prove, patch; of a Hold that is there already only prove and patch."""
    refused = _end_impossible(gang, job, desired)
    if refused is not None:
        return refused
    there = gang.holds_on(job)
    name = there[0].meta.ref.name if there else hold_name(job.meta.ref.name, desired.action)
    return Decision(
        partial(_hold_steps, gang, job, desired, not there),
        before={"spec.suspend": shown(job.suspended), "Hold": name if there else "none"},
        after={"spec.suspend": "true", "Hold": name},
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *about_there(there),
            pods_of_job(gang, job),
            about_proof(desired.levers),
            f"The Hold keeps it suspended while {gang.name} is restarted, or suspended and "
            f"resumed; it goes when {parent_of(job)} is deleted.",
            *about_end(desired),
        ),
        warnings=about_cluster(desired.levers),
        label="Hold" if job.suspended else "",
        meaning=meaning_of_hold(gang, job) if job.suspended else "",
    )


def _end_impossible(gang: Gang, job: Owner, desired: DesiredAction) -> PlanRefusal | None:
    until = desired.until
    if until is None:
        return None
    if until <= desired.now:
        return PlanRefusal(f"The end {moment(until)} is past: a Hold needs a later one.")
    there = gang.holds_on(job)
    if there and all(hold.until != until.replace(microsecond=0) for hold in there):
        return PlanRefusal(
            f"{label(job.meta.ref)} has Hold {there[0].meta.ref.name} already, which has another "
            "end: leave out the end, or resume the Job first."
        )
    return None


def _hold_steps(gang: Gang, job: Owner, desired: DesiredAction, create: bool) -> tuple[Step, ...]:
    # It comes back so 30 to 55 ms after the Hold was made (observed).
    proof = prove(StepKind.PROVE_HOLD, gang, job, "is turned back")
    patch = suspend_job(gang, job, desired.action, suspend=True)
    return (create_hold(gang, job, desired), proof, patch) if create else (proof, patch)


def _resume(gang: Gang, job: Owner, desired: DesiredAction) -> Decision:
    """Return the removal of the Holds that go, and the resume where no other Hold is left and the Job may run."""
    there, blocked = gang.holds_on(job), desired.blocked or generation_unknown(job.meta)
    staying = tuple(hold for hold in there if desired.ended_hold not in ("", hold.meta.ref.uid))
    going = tuple(hold for hold in there if hold not in staying)
    waits = blocked is not None or gang.wait_of(job) is not None
    only = bool(staying) or waits or not job.suspended
    suspend = shown(job.suspended)
    return Decision(
        partial(_release_steps, gang, job, desired, going, only),
        before={"spec.suspend": suspend, "Hold": names_of(there)},
        after={"spec.suspend": suspend if only else "false", "Hold": names_of(staying)},
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *of_removal(going),
            *(
                of_release(gang, job, staying, blocked.why if blocked else "")
                if only
                else job_resumed(gang, job)
            ),
        ),
        warnings=about_holders(going, desired.by),
        resumes=not only,
        label="Release" if only else "",
        meaning=meaning_of_release(gang, job, staying, blocked=blocked is not None) if only else "",
    )


def _release_steps(
    gang: Gang, job: Owner, desired: DesiredAction, holds: tuple[Hold, ...], only: bool
) -> tuple[Step, ...]:
    removed = tuple(delete_hold(gang, hold) for hold in holds)
    return removed if only else removed + resume_job(gang, job, desired.action)


def _unavailable(levers: ClusterLevers) -> PlanRefusal | None:
    """Say why no Hold can be made: half a sentence. One that may be there is tried and proved."""
    needs = roles_command(levers.cluster, levers.context)
    if levers.hold is PolicyState.MISSING:
        return PlanRefusal(_half(levers.hold_sentence) or "the Hold is not installed here", needs)
    if levers.hold is PolicyState.CHANGED:
        found = _half(levers.hold_sentence)
        return PlanRefusal(found or "the policy of the Hold was changed and is not trusted", needs)
    return None


def _half(text: str) -> str:
    """Return a sentence as part of another one: `The Hold …` begins small there, a name does not."""
    bare = text.strip().rstrip(".")
    return bare[:1].lower() + bare[1:] if bare.startswith(_SMALL) else bare


def _stopped(gang: Gang, job: Owner) -> str:
    holds = gang.holds_on(job)
    if not (job.suspended and holds):
        return ""
    by = f" of {holds[0].by}" if holds[0].by else ""
    return f"held already, by Hold {holds[0].meta.ref.name}{by}"


def _undoes(gang: Gang, job: Owner) -> bool:
    return bool(gang.holds_on(job))


def _readiness(levers: ClusterLevers, _kinds: str, shut: str) -> LeverState:
    said = sentence(levers.hold_sentence[:1].upper() + levers.hold_sentence[1:])
    readiness, text, usable = _state(levers, said)
    return LeverState(
        readiness, text, usable and not shut, levers.hold_proved_at, levers.hold_refuted_at
    )


def _state(levers: ClusterLevers, said: str) -> tuple[Readiness, str, bool]:
    if levers.hold in (PolicyState.MISSING, PolicyState.CHANGED):
        return Readiness.MISSING, said, False
    if levers.hold_refuted_at is not None:
        return Readiness.REFUTED, "Installed; not in force at the last proof.", False
    if levers.hold is PolicyState.NOT_SEEN:
        proved = levers.hold_proved_at is not None
        return Readiness.READY if proved else Readiness.UNPROVED, said, proved
    if levers.hold_proved_at is None:
        unproved = "Installed, unproved: it is proved each time before a Job is suspended."
        return Readiness.UNPROVED, f"{unproved} {said}".strip(), True
    return Readiness.READY, f"Installed and proved. {said}".strip(), True


LEVER = Lever(
    key=HOLD_LEVER,
    position=20,
    label="Hold",
    title="Hold one Job",
    suspend=_suspend,
    resume=_resume,
    readiness=_readiness,
    unavailable=_unavailable,
    stopped=_stopped,
    undoes=_undoes,
    writes=("spec", "suspend"),
    makes=makes,
    lasts=True,
    takes_end=True,
    needs_nothing=True,
    done="Held",
    applied="Suspended",
    undo_buttons={"Hold": "Release", "Release": "Hold"},
    state="held",
    after_restart="re-created suspended: the Hold stays",
    renewals="a restart or a resume",
)
