"""`volcano_command`: a Command that makes Volcano abort or resume one of its Jobs.

`vcctl job suspend` and `resume` send the same Command (pkg/cli/util of v1.14.1) under another name. The
controller deletes the Command and then acts. `status.state.phase` of the Job confirms it. A Command to abort is
lost while the Job restarts. Each resume counts as a retry, and at `maxRetry` the Job fails permanently
(pkg/controllers/job/state).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gangboard.domain.action import Step, StepKind, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import AdmissionRule, CreatedResource, Lever
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    nothing_to_do,
    watch_seconds,
)
from gangboard.policy.phrases import gang_resumed, gang_stopped
from gangboard.policy.requests import json_text, object_path

PHASE, RETRIES, MAX_RETRIES = "phase", "retries", "maxRetry"
"""Keys in `Owner.detail` of a Job: `status.state.phase`, `status.retryCount` and `spec.maxRetry`."""

_GROUP, _VERSION, _PLURAL = "bus.volcano.sh", "v1alpha1", "commands"
_ABORT, _RESUME = "AbortJob", "ResumeJob"
_JOBS = "batch.volcano.sh"
_MAX_NAME_LENGTH = 253


class VolcanoCommand(Lever):
    """A Command about a Job of Volcano."""

    key = "volcano_command"
    position = 45
    label = "a Command (AbortJob, ResumeJob)"
    title = "Abort a Job of Volcano"
    description = (
        "A Command to Volcano about a Job of its own; each resume counts as a retry of that."
    )

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return the creation of a Command."""
        stops = desired.verb is Verb.SUSPEND
        if subject.suspended is stops:
            return nothing_to_do(
                f"{gang.name} is {'suspended already' if stops else 'not suspended'}"
            )
        refused = _refuse_restarting(gang, subject) if stops else _refuse_last_retry(gang, subject)
        if refused is not None:
            return refused
        return Decision(
            lambda: (_command(subject, desired, _ABORT if stops else _RESUME),),
            before={"status.state.phase": subject.detail[PHASE]},
            after={"status.state.phase": "Aborted" if stops else "Pending"},
            watch_seconds=watch_seconds(subject.grace_seconds),
            reactions=(
                (
                    gang_stopped(gang),
                    "Its PodGroup is deleted with them, and re-created when it resumes.",
                )
                if stops
                else (gang_resumed(gang),)
            ),
            warnings=_warnings(subject, stops=stops),
        )

    def confirms_action(self, raw: Mapping[str, Any], suspend: bool) -> bool:
        """Return whether the phase of the Job confirms the Command."""
        phase = ((raw.get("status") or {}).get("state") or {}).get("phase")
        if suspend:
            return phase == "Aborted"
        return phase in ("Pending", "Running", "Completing", "Completed")

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource:
        """Return the resource Command, with conditions for Commands of gangboard."""
        target = "object.target"
        rules = (
            AdmissionRule(
                f"object.action in ['{_ABORT}', '{_RESUME}']",
                "gangboard commands Volcano to abort Jobs and to resume them, and nothing else",
            ),
            AdmissionRule(
                f"{target}.kind == 'Job' && {target}.apiVersion.startsWith('{_JOBS}/')",
                "gangboard commands Jobs of Volcano only",
            ),
            AdmissionRule(
                "size(object.metadata.?ownerReferences.orValue([])) == 1 && "
                f"object.metadata.ownerReferences[0].uid == {target}.uid",
                "a Command of gangboard belongs to the Job that it is for",
            ),
        )
        return CreatedResource(_GROUP, _PLURAL, "Command", ("create", "get"), rules)


def _refuse_restarting(gang: Gang, owner: Owner) -> PlanRefusal | None:
    if owner.detail[PHASE] not in ("Restarting", "Completing", "Terminating"):
        return None
    phase = owner.detail[PHASE].lower()
    return PlanRefusal(
        f"{gang.name} is {phase}, and Volcano forgets a Command that comes meanwhile: try again when "
        "that is over."
    )


def _remaining_retries(owner: Owner) -> int:
    """Return the number of retries that remain after one more."""
    return int(owner.detail[MAX_RETRIES]) - int(owner.detail[RETRIES]) - 1


def _refuse_last_retry(gang: Gang, owner: Owner) -> PlanRefusal | None:
    if _remaining_retries(owner) > 0:
        return None
    return PlanRefusal(
        f"A resume would end {gang.name}: it counts as a retry, {owner.detail[RETRIES]} of "
        f"{owner.detail[MAX_RETRIES]} are used, and at maxRetry the Job fails.",
        f"Raise spec.maxRetry of {gang.name} first.",
    )


def _warnings(owner: Owner, *, stops: bool) -> tuple[str, ...]:
    remaining = _remaining_retries(owner)
    if remaining <= 0:
        return (
            "It could not be resumed after that: a resume counts as a retry, and its last one would "
            "end it (maxRetry).",
        )
    if stops:
        return ()
    return (
        f"A resume counts as a retry: {remaining} {'is' if remaining == 1 else 'are'} left after it.",
    )


def _command(owner: Owner, desired: DesiredAction, action: str) -> Step:
    ref = owner.meta.ref
    suffix = f"-{desired.action}"
    name = f"{ref.name[: _MAX_NAME_LENGTH - len(suffix)]}{suffix}".lower()
    target = {
        "apiVersion": f"{ref.group}/{owner.meta.api_version}",
        "kind": ref.kind,
        "name": ref.name,
        "uid": ref.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body = {
        "apiVersion": f"{_GROUP}/{_VERSION}",
        "kind": "Command",
        "metadata": {
            "name": name,
            "namespace": ref.namespace,
            "annotations": {ACTION_ANNOTATION: desired.action},
            "ownerReferences": [target],
        },
        "target": target,
        "action": action,
    }
    return Step(
        StepKind.CREATE,
        f"Create Command {name} ({action})",
        ObjectRef(_GROUP, "Command", ref.namespace, name, ""),
        "POST",
        object_path(_GROUP, _VERSION, ref.namespace, _PLURAL),
        json_text(body),
    )
