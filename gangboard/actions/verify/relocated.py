"""applied → verified for a relocation: all pods are new, ready, and outside the place that they left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gangboard.actions import cordons, patches, relocation, requeueing
from gangboard.actions.actor_client import Json, get_object
from gangboard.actions.drift_detection import unguard_older_actions
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, finish
from gangboard.actions.live_objects import LiveReader
from gangboard.actions.verify.change_detection import describe_undone
from gangboard.actions.verify.sibling_checks import sibling_changes
from gangboard.domain.action import ActionState
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, names, out_of
from gangboard.policy.exclusions import excludes
from gangboard.store.models import ActionStep

PAUSE, LONG_PAUSE = 0.25, 2.0
QUICK_SECONDS = 10.0
START_SECONDS = 600.0
"""How long the new pods may take to become ready. A large image takes some minutes."""
MISSING_SECONDS = 30.0


def watch(execution: ActionExecution) -> float:
    """Check once. Return the seconds until the next check, 0 if the action is over. Raises KubeError."""
    subject = execution.context["subjects"][0]
    raw = get_object(execution.client, subject["path"])
    evicted = cordons.eviction_sentence(execution)
    if evicted:
        return _end(execution, ActionExit(ActionState.FAILED, evicted))
    problem = _problem(execution, subject, raw)
    if problem is not None:
        return _end(execution, problem)
    if raw is None:
        return PAUSE
    entry_step = requeueing.return_step(execution)
    if entry_step is not None and patches.value_at(raw, "/spec/suspend") is True:
        return _watch_queue(execution, entry_step)
    live = LiveReader(execution.client, execution.context.get("versions", {}))
    old = set(execution.context["pods"])
    every = live.pods(execution.action.namespace, execution.context["jobs"])
    new = tuple(pod for pod in every if pod.meta.ref.uid not in old)
    pods = tuple(pod for pod in every if pod.is_live)
    watched = (execution.now - _applied_at(execution)).total_seconds()
    wanted = _wanted_pods(raw)
    ready = [pod for pod in pods if pod.is_ready and pod.node and not pod.is_terminating]
    left = set(execution.context["left"])
    returned = sorted({pod.node for pod in new if pod.node in left})
    if returned:
        place = f"{is_or_are(len(returned))} in the place that it should leave"
        sentence = f"{execution.object_name} runs again, but {names(returned)} {place}."
        return _end(execution, ActionExit(ActionState.FAILED, sentence))
    is_new = not any(pod.meta.ref.uid in old for pod in pods)
    if is_new and sum(bool(pod.node) for pod in pods) >= wanted:
        # The new pods have nodes, so the cordon is not needed any more. They may still load their images.
        cordons.lift(execution)
    if len(ready) >= wanted and is_new and watched >= execution.context["watch"]:
        lasting = [pod for pod in new if pod.phase != "Failed" and not pod.is_terminating]
        return _end_verified(execution, lasting)
    if _has_failed(raw):
        sentence = f"{execution.object_name} was restarted elsewhere and has failed since."
        return _end(execution, ActionExit(ActionState.FAILED, sentence))
    if (execution.now - _started_at(execution, entry_step)).total_seconds() > START_SECONDS:
        undo = f" {_UNDO}" if relocation.has_exclusion(execution) else ""
        sentence = (
            f"{execution.object_name} was restarted, but {_progress(pods, wanted, ready)}.{undo}"
        )
        return _end(execution, ActionExit(ActionState.FAILED, sentence))
    message = f"Restarted, watching: {_progress(pods, wanted, ready)}."
    if message != execution.action.message:
        execution.write(message=message)
    return PAUSE if watched < QUICK_SECONDS else LONG_PAUSE


_UNDO = (
    "To allow its former nodes again, remove the exclusion: relocate it without a place to avoid."
)


def _watch_queue(execution: ActionExecution, step: ActionStep) -> float:
    """Check once whether the Job is still in its queue. It runs elsewhere when it is admitted."""
    execution.context.pop("admitted_since", None)
    progress = requeueing.admission_progress(execution, step)
    if isinstance(progress, ActionExit):
        return _end(execution, progress)
    watched = (execution.now - _applied_at(execution)).total_seconds()
    name, exclusion = execution.object_name, relocation.exclusion_of(execution)
    if watched > START_SECONDS:
        where = f" outside {exclusion.text}" if exclusion is not None else ""
        sentence = (
            f"{name} has not run again within {START_SECONDS / 60:.0f} min: {progress}. Its template is changed, and "
            f"it starts{where} when its queue admits it. Suspend it to take it out of the queue."
        )
        return _end(execution, ActionExit(ActionState.FAILED, sentence))
    message = f"Requeued, watching: {progress}."
    if message != execution.action.message:
        execution.write(message=message, context=True)
    return PAUSE if watched < QUICK_SECONDS else LONG_PAUSE


def _started_at(execution: ActionExecution, entry_step: ActionStep | None) -> datetime:
    """Return when the Job could start its pods: after the resume, or after its queue admitted it."""
    if entry_step is None:
        return _applied_at(execution)
    since = execution.context.get("admitted_since")
    if since is None:
        since = execution.context["admitted_since"] = execution.now.isoformat()
        execution.write(context=True)
    return datetime.fromisoformat(since)


def _applied_at(execution: ActionExecution) -> datetime:
    return execution.action.applied_at or execution.action.requested_at


def _problem(
    execution: ActionExecution, subject: dict[str, Any], raw: Json | None
) -> ActionExit | None:
    """Return the end of an action whose Job was deleted, created again, suspended, or lost its exclusion."""
    if raw is None:
        return _missing(execution)
    execution.context.pop("missing_since", None)
    name = execution.object_name
    if raw["metadata"]["uid"] != subject["uid"]:
        without = "has no exclusion, and " if relocation.has_exclusion(execution) else ""
        sentence = f"{name} was created again meanwhile: its owner has restarted. The new Job {without}may run anywhere."
        return ActionExit(ActionState.REVERTED, sentence)
    since, now = _applied_at(execution), execution.now
    in_queue = requeueing.return_step(execution) is not None
    if patches.value_at(raw, "/spec/suspend") is True and not in_queue:
        undone = describe_undone(subject, raw, is_recreated=False, since=since, now=now)
        columns = {"reverted_by": undone.manager[:253], "held_seconds": undone.held_seconds}
        template = (
            "; the exclusion is in its template" if relocation.has_exclusion(execution) else ""
        )
        sentence = f"{undone.sentence} {name} has no pods now{template}."
        return ActionExit(ActionState.REVERTED, sentence, columns)
    exclusion = relocation.exclusion_of(execution)
    affinity = patches.raw_value_at(raw, relocation.AFFINITY_POINTER)
    if exclusion is not None and not excludes(affinity, exclusion):
        sentence = f"The template of {name} does not exclude {exclusion.text} any more."
        return ActionExit(ActionState.REVERTED, sentence)
    return None


def _missing(execution: ActionExecution) -> ActionExit | None:
    """Wait for a Job that its restarting owner may create again."""
    since = execution.context.get("missing_since")
    if since is None:
        execution.context["missing_since"] = execution.now.isoformat()
        execution.write(context=True)
        return None
    if execution.now - datetime.fromisoformat(since) < timedelta(seconds=MISSING_SECONDS):
        return None
    sentence = f"{execution.object_name} was deleted while it was watched."
    return ActionExit(ActionState.GONE, sentence)


def _has_failed(raw: Json) -> bool:
    return any(
        condition["type"] == "Failed" and condition["status"] == "True"
        for condition in (raw.get("status") or {}).get("conditions") or ()
    )


def _wanted_pods(raw: Json) -> int:
    """Return how many pods the Job runs at once now. Completed indexes get no new pod."""
    spec, status = raw["spec"], raw.get("status") or {}
    parallelism: int = spec.get("parallelism", 1)
    completions: int | None = spec.get("completions")
    if completions is None:
        return parallelism
    return max(0, min(parallelism, completions - int(status.get("succeeded") or 0)))


def _progress(pods: tuple[Pod, ...], wanted: int, ready: list[Pod]) -> str:
    """Return the number of ready pods, and the scheduler's text about one that waits."""
    text = f"{out_of(len(ready), wanted, 'pod')} {is_or_are(len(ready))} ready"
    waiting = next((pod for pod in pods if not pod.node), None)
    if waiting is None or waiting.scheduled is None or not waiting.scheduled.message:
        return text
    return f"{text}; {waiting.meta.ref.name} waits: {waiting.scheduled.message.rstrip('.')}"


def _end(execution: ActionExecution, exit_: ActionExit) -> float:
    """End the action once its cordon has ended, or after some patience with a node that cannot be uncordoned."""
    delay = cordons.lift(execution)
    if delay and cordons.is_patient(execution):
        return delay
    remaining = cordons.remaining_sentence(execution)
    exit_ = replace(exit_, sentence=f"{exit_.sentence} {remaining}".strip())
    finish(execution, exit_, lambda: unguard_older_actions(execution.action))
    return 0.0


def _end_verified(execution: ActionExecution, pods: Sequence[Pod]) -> float:
    notes = sibling_changes(execution)
    before = names(execution.context["nodes"]) or "no node"
    nodes = sorted({pod.node for pod in pods if pod.node})
    after = names(nodes) or "no node"
    untouched = "" if notes or not execution.context["siblings"]["pods"] else "; siblings untouched"
    sentence = f"{execution.object_name} was on {before}, runs on {after} now{untouched}."
    columns = {
        "warnings": [*execution.action.warnings, *notes],
        "after": {**execution.action.after, "nodes": ", ".join(nodes)},
        "before": {**execution.action.before, "nodes": ", ".join(execution.context["nodes"])},
    }
    execution.checkpoint("verified:before-writing")
    return _end(execution, ActionExit(ActionState.VERIFIED, " ".join([sentence, *notes]), columns))
