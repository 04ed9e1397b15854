"""`suspend`: the suspend field of an owner that nobody else suspends."""

from __future__ import annotations

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever, LeverState
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
    shown,
    watch,
)
from gangboard.policy.phrases import gang_resumed, gang_stopped
from gangboard.policy.registry_lookups import described_kind
from gangboard.policy.requests import FieldChange, patch_owner


def _change(gang: Gang, owner: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    suspend = desired.verb is Verb.SUSPEND
    if owner.suspended is suspend:
        state = "suspended already" if suspend else "not suspended"
        return nothing_to_do(f"{gang.name} is {state}")
    refused = generation_unknown(owner.meta)
    if refused is not None:
        return refused
    kind = described_kind(owner)
    path, is_missing = kind.suspend_field, kind.suspend_map_missing
    # What is not suspended may lack the field; then only the generation tells.
    old = True if owner.suspended else None
    lacks_map = is_missing is not None and is_missing(owner)
    change = FieldChange(path, suspend, old, map_missing=lacks_map)
    what, field = "Suspend" if suspend else "Resume", ".".join(path)
    mark = {ACTION_ANNOTATION: desired.action}
    return Decision(
        lambda: (patch_owner(gang, owner, what, [change], {**mark}),),
        before={field: shown(not suspend)},
        after={field: shown(suspend)},
        watch_seconds=watch(owner.grace_seconds),
        reactions=_stopped(gang) if suspend else (gang_resumed(gang),),
    )


def _stopped(gang: Gang) -> tuple[str, ...]:
    jobs = ("Its Jobs stay, suspended; those that have finished are not touched.",)
    return (gang_stopped(gang), *(jobs if gang.child_jobs else ()))


def _readiness(_levers: ClusterLevers, _kinds: str, shut: str) -> LeverState:
    what = "spec.suspend of an owner that no queue manages and nobody else suspends."
    return LeverState.ready(what, shut)


LEVER = Lever(
    key="suspend",
    position=40,
    label="spec.suspend",
    title="Suspend a whole gang",
    suspend=_change,
    resume=_change,
    readiness=_readiness,
    writes=None,
)
