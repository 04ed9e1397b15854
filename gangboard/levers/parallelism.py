"""`parallelism`: one Job paused by parallelism 0, where there is no better way and somebody switched it on.

The old value is kept in an annotation. The Job is not suspended: whoever counts its Jobs goes on
counting it as ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from gangboard.domain.action import ClusterLevers
from gangboard.domain.group import Policy
from gangboard.domain.hold import ACTION_ANNOTATION, PAUSED_PARALLELISM
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang, is_paused
from gangboard.plugins.lever import Lever, LeverState, Readiness, Rule
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal, shown, watch
from gangboard.policy.phrases import job_resumed, pods_of_job
from gangboard.policy.requests import FieldChange, patch_owner

_FIELD = ("spec", "parallelism")
_IMMUTABLE = "v1alpha2"
"""Version of scheduling.k8s.io (1.36) with which a Job of a gang cannot change its parallelism."""
_NOTE = f"[?'{PAUSED_PARALLELISM}'].orValue('')"
_VARIABLES = {
    "newParallelism": "variables.newSpec.?parallelism.orValue(1)",
    "oldParallelism": "variables.oldSpec.?parallelism.orValue(1)",
    "newNote": f"variables.newAnnotations{_NOTE}",
    "oldNote": f"variables.oldAnnotations{_NOTE}",
}
"""Variables of the rule in CEL; the API's default is 1."""


def _pause(gang: Gang, job: Owner, desired: DesiredAction) -> Decision:
    kept = job.parallelism or 0
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: str(kept)}
    return Decision(
        lambda: (patch_owner(gang, job, "Pause", [FieldChange(_FIELD, 0, kept)], {**notes}),),
        before={"spec.parallelism": shown(kept)},
        after={"spec.parallelism": "0"},
        watch_seconds=watch(job.grace_seconds),
        reactions=(pods_of_job(gang, job),),
        remarks=(
            f"It is paused, not suspended: {gang.name} goes on counting it as ready, and an "
            "activeDeadlineSeconds of the Job runs on.",
        ),
        label="Pause",
        meaning=(
            f"Keep this Job without pods when the {gang.owner.meta.ref.kind} resumes."
            if job.suspended
            else "Set parallelism to 0: the Job has no pods, and is not suspended."
        ),
    )


def _unpause(gang: Gang, job: Owner, desired: DesiredAction) -> Decision:
    kept = job.paused_parallelism or 0
    stays = job.suspended or gang.wait_of(job) is not None
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: None}
    return Decision(
        lambda: (patch_owner(gang, job, "Unpause", [FieldChange(_FIELD, kept, 0)], {**notes}),),
        before={"spec.parallelism": "0"},
        after={"spec.parallelism": shown(kept)},
        watch_seconds=watch(job.grace_seconds),
        reactions=job_resumed(gang, job),
        warnings=() if desired.levers.parallelism else (_SWITCHED_OFF,),
        resumes=not stays,
        label="Unpause" if stays else "",
        meaning=(
            f"Restore parallelism {kept}; the Job resumes with its {gang.owner.meta.ref.kind}."
            if stays
            else ""
        ),
    )


_SWITCHED_OFF = (
    "Pausing by parallelism 0 is not enabled here any more: the cluster may refuse to let "
    "gangboard change parallelism."
)


def _unavailable(levers: ClusterLevers) -> PlanRefusal | None:
    if levers.parallelism:
        return None
    return PlanRefusal("pausing by parallelism 0 is not enabled here", _switch(levers), opt_in=True)


def _missing(gang: Gang, job: Owner, _levers: ClusterLevers) -> PlanRefusal | None:
    if not job.parallelism:
        return PlanRefusal("it asks for no pods already (parallelism 0)")
    group = gang.pod_groups.get(job.group_name) or gang.pod_groups_by_owner.get(job.meta.ref.uid)
    if group is not None and group.policy is Policy.GANG and group.meta.api_version == _IMMUTABLE:
        # Observed on 1.36.3: 403 "cannot change parallelism for a Job referencing …".
        return PlanRefusal(
            f"Kubernetes 1.36 refuses parallelism 0 for a Job of gang {label(group.meta.ref)}"
        )
    return None


def _switch(levers: ClusterLevers) -> str:
    return f"manage.py set_lever {quote(levers.cluster or 'NAME')} parallelism on"


def _stopped(_gang: Gang, job: Owner) -> str:
    if not is_paused(job):
        return ""
    return f"paused already (parallelism 0, {job.paused_parallelism} is kept)"


def _undoes(_gang: Gang, job: Owner) -> bool:
    return is_paused(job)


def _readiness(levers: ClusterLevers, _kinds: str, shut: str) -> LeverState:
    if not levers.parallelism:
        return LeverState(Readiness.OFF, f"Switched off ({_switch(levers)}).")
    paused = "spec.parallelism 0, where there is no better way; the old value is kept."
    return LeverState.ready(paused, shut)


def _bounds(kind: str) -> tuple[Mapping[str, str], Rule]:
    """Return the rule: to 0 while the old value is written down, or back to what is written there.

    The note changes only together with the value: else any number could be written into it first.
    """
    new, old, note, old_note = (f"variables.{name}" for name in _VARIABLES)
    return _VARIABLES, Rule(
        f"{new} == {old} ? {note} == {old_note} : "
        f"({new} == 0 ? {note} == string({old}) : {old} == 0 && {old_note} == string({new}))",
        f"gangboard may set spec.parallelism of a {kind} to 0 with the old value in "
        f"{PAUSED_PARALLELISM}, or back to that value, and nothing else",
    )


LEVER = Lever(
    key="parallelism",
    position=30,
    label="parallelism 0",
    title="Pause one Job",
    suspend=_pause,
    resume=_unpause,
    readiness=_readiness,
    unavailable=_unavailable,
    missing=_missing,
    stopped=_stopped,
    undoes=_undoes,
    writes=_FIELD,
    bounds=_bounds,
    optional=True,
    counts_as_ready=True,
    done="Paused",
    undo_buttons={"Resume": "Pause", "Unpause": "Pause"},
    state="paused",
    after_restart="re-created with the parallelism of its template: the pause is lost",
    renewals="a resume",
)
