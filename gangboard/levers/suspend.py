"""`suspend`: the suspend field of an owner that no other controller suspends."""

from __future__ import annotations

from gangboard.domain.action import Step, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
    watch_seconds,
    yaml_value,
)
from gangboard.policy.exclusions import exclude_step, exclusion_sentences, read_exclusion
from gangboard.policy.phrases import gang_resumed, gang_stopped
from gangboard.policy.registry_lookups import described_kind
from gangboard.policy.requests import FieldChange, patch_owner, restart_job


class Suspend(Lever):
    """The suspend field of the owner."""

    key = "suspend"
    position = 40
    label = "spec.suspend"
    title = "Suspend a whole gang"
    description = "spec.suspend of an owner that no queue manages and nobody else suspends."

    def written_field(self, suspend_field: tuple[str, ...]) -> tuple[str, ...]:
        """Return the suspend field of the kind."""
        return suspend_field

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return a patch of the suspend field."""
        suspend = desired.verb is Verb.SUSPEND
        if subject.suspended is suspend:
            state = "suspended already" if suspend else "not suspended"
            return nothing_to_do(f"{gang.name} is {state}")
        refused = generation_unknown(subject.meta)
        if refused is not None:
            return refused
        kind = described_kind(subject)
        path, is_missing = kind.suspend_field, kind.suspend_map_missing
        # An owner that is not suspended may lack the field. The patch then tests only the generation.
        old = True if subject.suspended else None
        lacks_map = is_missing is not None and is_missing(subject)
        change = FieldChange(path, suspend, old, map_missing=lacks_map)
        verb, field = "Suspend" if suspend else "Resume", ".".join(path)
        annotations = {ACTION_ANNOTATION: desired.action}
        exclusion = None if suspend else read_exclusion(subject.exclusion)
        return Decision(
            lambda: (
                (patch_owner(gang, subject, verb, [change], {**annotations}),)
                if exclusion is None
                else _resume_everywhere(gang, subject, desired)
            ),
            before={field: yaml_value(not suspend)},
            after={field: yaml_value(suspend)},
            watch_seconds=watch_seconds(subject.grace_seconds),
            reactions=_suspend_reactions(gang)
            if suspend
            else (gang_resumed(gang), *exclusion_sentences(exclusion)),
        )


def _resume_everywhere(gang: Gang, job: Owner, desired: DesiredAction) -> tuple[Step, ...]:
    """Remove the exclusion of a relocated Job, then resume it. The removal changes the generation."""
    return (
        exclude_step(gang, job, desired.action, None),
        restart_job(gang, job, desired.action),
    )


def _suspend_reactions(gang: Gang) -> tuple[str, ...]:
    jobs = ("Its Jobs stay, suspended; those that have finished are not touched.",)
    return (gang_stopped(gang), *(jobs if gang.child_jobs else ()))
