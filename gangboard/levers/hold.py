"""`hold`: one Job, kept suspended by a Hold whatever its controller does.

The policy of the Hold (`domain.hold_manifest`) turns every resume of the Job back, so it lasts through
restarts of what made the Job. It is proved by a dry run before anything is suspended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC
from functools import partial
from shlex import quote

from gangboard.domain.acting.decision import (
    PROVED_SECONDS,
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    shown,
)
from gangboard.domain.acting.gang_index import GangIndex
from gangboard.domain.acting.lever import Lever, LeverState, Made, Readiness, Rule
from gangboard.domain.acting.phrases import job_resumed, moment, pods_of_job
from gangboard.domain.acting.requests import (
    json_text,
    object_path,
    prove,
    resume_job,
    suspend_job,
)
from gangboard.domain.action import ActionContext, ClusterLevers, PolicyState, Step, StepKind
from gangboard.domain.hold import (
    ACTION_ANNOTATION,
    HOLD_GROUP,
    HOLD_LEVER,
    HOLD_VERSION,
    HOLDS,
    LONGEST_BY,
    LONGEST_REASON,
    Hold,
)
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.reading.wording import label, sentence, shorten

_MAX_NAME = 63
_DIGITS = 8
_SMALL = ("The ", "A ", "An ", "No ", "It ", "Its ", "This ")
_MANAGED_BY = "app.kubernetes.io/managed-by"
_OURS = f"{HOLD_GROUP}/"


def _suspend(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
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
            *_about_there(there),
            pods_of_job(gang, job),
            _proof(desired.levers),
            f"The Hold keeps it suspended while {gang.name} is restarted, or suspended and "
            f"resumed; it goes when {_parent(job)} is deleted.",
            *_end(desired),
        ),
        warnings=_about(desired.levers),
    )


def _end_impossible(gang: GangIndex, job: Owner, desired: DesiredAction) -> PlanRefusal | None:
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


def _hold_steps(
    gang: GangIndex, job: Owner, desired: DesiredAction, create: bool
) -> tuple[Step, ...]:
    # It comes back so 30 to 55 ms after the Hold was made (observed).
    proof = prove(StepKind.PROVE_HOLD, gang, job, "is turned back")
    patch = suspend_job(gang, job, desired.action, suspend=True)
    return (create_hold(gang, job, desired), proof, patch) if create else (proof, patch)


def _resume(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    """Return the removal of every Hold on it, and the resume where the Job may run."""
    holds, blocked = gang.holds_on(job), desired.blocked or generation_unknown(job.meta)
    only = blocked is not None or gang.wait_of(job) is not None or not job.suspended
    suspend = shown(job.suspended)
    return Decision(
        partial(_release_steps, gang, job, desired, holds, only),
        before={"spec.suspend": suspend, "Hold": ", ".join(hold.meta.ref.name for hold in holds)},
        after={"spec.suspend": suspend if only else "false", "Hold": "none"},
        watch_seconds=PROVED_SECONDS,
        reactions=_of_release(gang, job, blocked.why if blocked else "")
        if only
        else job_resumed(gang, job),
        warnings=_about_holders(holds, desired.by),
        resumes=not only,
    )


def _release_steps(
    gang: GangIndex, job: Owner, desired: DesiredAction, holds: tuple[Hold, ...], only: bool
) -> tuple[Step, ...]:
    removed = tuple(_delete_hold(gang.context, hold) for hold in holds)
    return removed if only else removed + resume_job(gang, job, desired.action)


# Steps


def hold_name(job_name: str, action: str) -> str:
    """Return the name of the Hold that an action makes: the same however often it is asked."""
    digest = hashlib.sha256(f"{job_name}\n{action}".encode()).hexdigest()[:_DIGITS]
    return f"{job_name[: _MAX_NAME - _DIGITS - 1].rstrip('-.')}-{digest}"


def create_hold(gang: GangIndex, job: Owner, desired: DesiredAction) -> Step:
    """Return the creation of a Hold on a child Job, owned by the Job's controller.

    Raises ValueError for a Job that no controller owns: the policy would never match it.
    """
    controller, job_ref, version = _controller(job), job.meta.ref, _version(gang.context)
    name = hold_name(job_ref.name, desired.action)
    spec = {
        "jobName": job_ref.name,
        "ownerUID": controller.uid,
        # A longer text would be refused.
        "by": desired.by[:LONGEST_BY],
        "reason": desired.reason[:LONGEST_REASON],
    }
    if desired.until is not None:
        spec["until"] = desired.until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    # The garbage collector sweeps the Hold with what made the Job.
    reference = {
        "apiVersion": _parent_version(gang, controller),
        "kind": controller.kind,
        "name": controller.name,
        "uid": controller.uid,
        "controller": False,
        "blockOwnerDeletion": False,
    }
    body = {
        "apiVersion": f"{HOLD_GROUP}/{version}",
        "kind": "Hold",
        "metadata": {
            "name": name,
            "namespace": job_ref.namespace,
            "labels": {_MANAGED_BY: "gangboard"},
            "annotations": {ACTION_ANNOTATION: desired.action},
            "ownerReferences": [reference],
        },
        "spec": spec,
    }
    return Step(
        StepKind.CREATE_HOLD,
        f"Create Hold {name}",
        ObjectRef(HOLD_GROUP, "Hold", job_ref.namespace, name, ""),
        "POST",
        object_path(HOLD_GROUP, version, job_ref.namespace, "holds"),
        json_text(body),
    )


def _delete_hold(context: ActionContext, hold: Hold) -> Step:
    """Return the removal of this very Hold; one made anew under its name stays."""
    ref = hold.meta.ref
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": ref.uid}}
    return Step(
        StepKind.DELETE_HOLD,
        f"Remove Hold {ref.name}",
        ref,
        "DELETE",
        object_path(HOLD_GROUP, _version(context), ref.namespace, "holds", ref.name),
        json_text(options),
    )


def _version(context: ActionContext) -> str:
    return context.api_versions.get(HOLDS) or HOLD_VERSION


def _controller(job: Owner) -> Controller:
    if job.meta.controller is None:
        raise ValueError(f"{label(job.meta.ref)} is controlled by nothing")
    return job.meta.controller


def _parent_version(gang: GangIndex, controller: Controller) -> str:
    """Return the apiVersion of the object that controls a child Job."""
    kind = gang.kinds.get((controller.group, controller.kind))
    version = kind.version if kind is not None else ""
    if not version and controller.uid == gang.owner.meta.ref.uid:
        version = gang.owner.meta.api_version
    if not version and kind is not None:
        version = kind.preferred
    return f"{controller.group}/{version}"


# Sentences


def _about_there(holds: Sequence[Hold]) -> tuple[str, ...]:
    """Say that a Hold is there already, which is then used."""
    return tuple(
        f"Hold {hold.meta.ref.name} is there already"
        f"{f', made by {hold.by}' if hold.by else ''}"
        f"{f', and ends at {moment(hold.until)}' if hold.until else ''}: no other is made."
        for hold in holds
    )


def _proof(levers: ClusterLevers) -> str:
    """Say what the Hold is before its proof: never more than `unproved`."""
    last = levers.hold_proved_at
    known = f"proved here last at {moment(last)}" if last else "not proved here yet"
    installed = "installed, unproved" if levers.hold is PolicyState.INSTALLED else "unproved"
    return f"The Hold is {installed} ({known}): it is proved for this Job before that is suspended."


def _parent(job: Owner) -> str:
    controller = job.meta.controller
    return f"{controller.kind} {controller.name}" if controller else "its owner"


def _end(desired: DesiredAction) -> tuple[str, ...]:
    if desired.until is None:
        return ()
    return (f"gangboard removes the Hold and resumes it at {moment(desired.until)}.",)


def _about(levers: ClusterLevers) -> tuple[str, ...]:
    """Warn of what is not known of the Hold in this cluster before its proof."""
    found = []
    refuted, proved = levers.hold_refuted_at, levers.hold_proved_at
    if refuted is not None and (proved is None or refuted > proved):
        found.append(f"The last proof of the Hold failed, at {moment(refuted)}.")
    if levers.hold is PolicyState.INSTALLED and levers.hold_sentence:
        said = levers.hold_sentence
        found.append(f"{said[:1].upper()}{said[1:]}.")
    if levers.hold is PolicyState.NOT_SEEN:
        found.append(
            "gangboard may not look whether the Hold is installed here: the proof will tell."
        )
    return tuple(found)


def _of_release(gang: GangIndex, job: Owner, blocked: str) -> tuple[str, ...]:
    """Say that nothing but the removal of the Hold is done, because of `blocked` or by itself."""
    if blocked:
        return ("Only the Hold is removed.", blocked)
    if not job.suspended:
        return (f"Only the Hold is removed: {label(job.meta.ref)} is not suspended.",)
    wait = gang.wait_of(job)
    if wait is None:
        return ("Only the Hold is removed.",)
    return (f"Only the Hold is removed: {wait.why}, and the Job starts when {wait.until}.",)


def _about_holders(holds: Iterable[Hold], by: str) -> tuple[str, ...]:
    """Name those whose Hold is removed by somebody else."""
    return tuple(
        f"Hold {hold.meta.ref.name} was made by {hold.by}"
        + (f": “{shorten(hold.reason)}”" if hold.reason else ".")
        for hold in holds
        if hold.by and by and hold.by != by
    )


# Whether it can be pulled


def _unavailable(levers: ClusterLevers) -> PlanRefusal | None:
    """Say why no Hold can be made: half a sentence. One that may be there is tried and proved."""
    needs = f"manage.py print_rbac --cluster {quote(levers.cluster or 'NAME')} | kubectl apply -f -"
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


def _stopped(gang: GangIndex, job: Owner) -> str:
    holds = gang.holds_on(job)
    if not (job.suspended and holds):
        return ""
    by = f" of {holds[0].by}" if holds[0].by else ""
    return f"held already, by Hold {holds[0].meta.ref.name}{by}"


def _undoes(gang: GangIndex, job: Owner) -> bool:
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


# Permissions


def _makes(parents: Sequence[tuple[str, str]]) -> Made:
    """Return what a Hold of gangboard must be like; the CRD's schema says the rest."""
    rules = (
        Rule(
            "request.operation == 'CREATE'",
            "gangboard makes and deletes Holds and never changes one",
        ),
        Rule(
            "object.spec.ownerUID != '' && object.spec.?by.orValue('') != ''"
            " && object.spec.?reason.orValue('') != ''",
            "a Hold of gangboard says in spec whose Job it is about, who wants it and why",
        ),
        Rule(
            "object.metadata.?ownerReferences.orValue([]).size() == 1"
            " && object.metadata.ownerReferences.all(o,"
            f" o.uid == object.spec.ownerUID && ({_is_one_of(parents)}))",
            "a Hold of gangboard belongs to the owner whose uid is in spec.ownerUID, and to nobody "
            "else",
        ),
        Rule(
            "object.metadata.?finalizers.orValue([]).size() == 0"
            f" && object.metadata.?labels.orValue({{}}).all(k, k == '{_MANAGED_BY}')"
            " && object.metadata.?annotations.orValue({})"
            f".all(k, k.startsWith('{_OURS}'))",
            f"a Hold of gangboard has no finalizer, no label besides {_MANAGED_BY} and no annotation "
            f"besides {_OURS}*",
        ),
    )
    return Made(HOLD_GROUP, "holds", "Hold", ("create", "delete", "get", "list"), rules)


def _is_one_of(parents: Iterable[tuple[str, str]]) -> str:
    """Return the condition that the owner reference `o` is of one of these kinds, in any version."""
    found = (
        f"o.kind == '{kind}' && o.apiVersion.startsWith('{group}/')" for group, kind in parents
    )
    return " || ".join(found) or "false"


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
    makes=_makes,
    lasts=True,
    takes_end=True,
    needs_nothing=True,
    button=("Hold", "Release"),
    done="Held",
    applied="Suspended",
    state="held",
    after_restart="made anew suspended: the Hold stays",
    renewals="a restart or a resume",
)
