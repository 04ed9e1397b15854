"""`parallelism`: one Job paused by parallelism 0, if no better lever works and an admin has enabled it.

An annotation stores the old value. The Job is not suspended, so its controller still counts it as ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.domain.group import Policy
from gangboard.domain.hold import ACTION_ANNOTATION, PAUSED_PARALLELISM
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import is_paused
from gangboard.plugins.lever import AdmissionRule, Bounds, Lever, LeverState, Readiness
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    watch_seconds,
    yaml_value,
)
from gangboard.policy.phrases import job_resumed, pods_of_job, wait_of
from gangboard.policy.requests import FieldChange, patch_owner

_FIELD = ("spec", "parallelism")
_IMMUTABLE = "v1alpha2"
"""Version of scheduling.k8s.io (1.36) in which the parallelism of a Job in a gang is immutable."""
_ANNOTATION = f"[?'{PAUSED_PARALLELISM}'].orValue('')"
_VARIABLES = {
    "newParallelism": "variables.newSpec.?parallelism.orValue(1)",
    "oldParallelism": "variables.oldSpec.?parallelism.orValue(1)",
    "newNote": f"variables.newAnnotations{_ANNOTATION}",
    "oldNote": f"variables.oldAnnotations{_ANNOTATION}",
}
"""Variables of the rule in CEL. The API's default is 1."""
_DISABLED_WARNING = (
    "Pausing by parallelism 0 is not enabled here any more: the cluster may refuse to let "
    "gangboard change parallelism."
)


class Parallelism(Lever):
    """`spec.parallelism` 0 of one Job."""

    key = "parallelism"
    position = 30
    label = "parallelism 0"
    title = "Pause one Job"
    description = "spec.parallelism 0, where there is no better way; the old value is kept."
    done = "Paused"
    state = "paused"
    after_restart = "re-created with the parallelism of its template: the pause is lost"
    renewals = "a resume"
    undo_buttons: Mapping[str, str] = {"Resume": "Pause", "Unpause": "Pause"}
    writes = _FIELD
    optional = True
    suspends = False
    counts_as_ready = True

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision:
        """Return the pause of a Job, or its end."""
        decide = _pause if desired.verb is Verb.SUSPEND else _unpause
        return decide(gang, subject, desired)

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return OFF with the command that enables it."""
        if not levers.parallelism:
            return LeverState(Readiness.OFF, f"Switched off ({_enable_command(levers)}).")
        return super().readiness(levers, kinds, closed_reason)

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse a cluster in which no admin has enabled the lever."""
        if levers.parallelism:
            return None
        why = "pausing by parallelism 0 is not enabled here"
        return PlanRefusal(why, _enable_command(levers), opt_in=True)

    def why_not(self, gang: Gang, subject: Owner, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse a Job without pods, and a Job whose parallelism is immutable."""
        unavailable = self.unavailable(levers)
        if unavailable is not None:
            return unavailable
        if not subject.parallelism:
            return PlanRefusal("it asks for no pods already (parallelism 0)")
        group = gang.pod_groups.get(subject.group_name) or gang.pod_groups_by_owner.get(
            subject.meta.ref.uid
        )
        if group is None or group.policy is not Policy.GANG:
            return None
        if group.meta.api_version != _IMMUTABLE:
            return None
        # Observed on 1.36.3: 403 "cannot change parallelism for a Job referencing …".
        return PlanRefusal(
            f"Kubernetes 1.36 refuses parallelism 0 for a Job of gang {label(group.meta.ref)}"
        )

    def describe_stop(self, gang: Gang, job: Owner) -> str:
        """Return the stored parallelism of a paused Job, or empty."""
        if not is_paused(job):
            return ""
        return f"paused already (parallelism 0, {job.paused_parallelism} is kept)"

    def has_undoable_change(self, gang: Gang, job: Owner) -> bool:
        """Return whether the Job is paused."""
        return is_paused(job)

    def bounds(self, kind: str, topology_keys: Sequence[str]) -> Bounds:  # Lever's
        """Allow 0 together with the annotation of the old value, or the value in the annotation.

        The annotation changes only together with the value. Otherwise the actor could first set it to any
        number.
        """
        new, old, note, old_note = (f"variables.{name}" for name in _VARIABLES)
        rule = AdmissionRule(
            f"{new} == {old} ? {note} == {old_note} : "
            f"({new} == 0 ? {note} == string({old}) : {old} == 0 && {old_note} == string({new}))",
            f"gangboard may set spec.parallelism of a {kind} to 0 with the old value in "
            f"{PAUSED_PARALLELISM}, or back to that value, and nothing else",
        )
        return Bounds(_VARIABLES, rule)


def _pause(gang: Gang, job: Owner, desired: DesiredAction) -> Decision:
    old_parallelism = job.parallelism or 0
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: str(old_parallelism)}
    return Decision(
        lambda: (
            patch_owner(gang, job, "Pause", [FieldChange(_FIELD, 0, old_parallelism)], {**notes}),
        ),
        before={"spec.parallelism": yaml_value(old_parallelism)},
        after={"spec.parallelism": "0"},
        watch_seconds=watch_seconds(job.grace_seconds),
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
    old_parallelism = job.paused_parallelism or 0
    remains_stopped = job.suspended or wait_of(gang, job) is not None
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: None}
    return Decision(
        lambda: (
            patch_owner(gang, job, "Unpause", [FieldChange(_FIELD, old_parallelism, 0)], {**notes}),
        ),
        before={"spec.parallelism": "0"},
        after={"spec.parallelism": yaml_value(old_parallelism)},
        watch_seconds=watch_seconds(job.grace_seconds),
        reactions=job_resumed(gang, job),
        warnings=() if desired.levers.parallelism else (_DISABLED_WARNING,),
        resumes=not remains_stopped,
        label="Unpause" if remains_stopped else "",
        meaning=(
            f"Restore parallelism {old_parallelism}; the Job resumes with its {gang.owner.meta.ref.kind}."
            if remains_stopped
            else ""
        ),
    )


def _enable_command(levers: ClusterLevers) -> str:
    return f"manage.py set_lever {quote(levers.cluster or 'NAME')} parallelism on"
