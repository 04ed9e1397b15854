"""applied → verified or reverted: repeated checks until the change has held or is undone."""

from __future__ import annotations

from datetime import datetime

from gangboard.actions import patches
from gangboard.actions.actor_client import Json, get_object
from gangboard.actions.drift_detection import unguard_older_actions
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early, finish
from gangboard.actions.live_objects import LiveReader
from gangboard.actions.verify import change_detection, pod_checks, relocated
from gangboard.actions.verify.sibling_checks import MAX_NOTES, sibling_changes
from gangboard.domain.action import ActionState, Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.objects import is_job
from gangboard.domain.pod import Pod
from gangboard.plugins import registry
from gangboard.store.levers import read_levers, save_lever_proof
from gangboard.store.suspend_records import recorded_hold

FIRST_PAUSE, PAUSE, LONG_PAUSE = 0.1, 0.25, 1.0
QUICK_SECONDS = 4.0
"""Checks are frequent at first: a revert was seen after 0.08 s, and people wait for the result."""
BEYOND_GRACE = 60.0
"""How long after their grace period gangboard waits for pods to go, in seconds."""
MISSING_SECONDS = 30.0
"""How long a Job may be missing while its JobSet restarts."""


def watch(execution: ActionExecution) -> float:
    """Check once. Return the seconds until the next check, 0 if the action is over. Raises KubeError."""
    if execution.action.verb == Verb.RELOCATE:
        return relocated.watch(execution)
    context, now = execution.context, execution.now
    lever = registry.lever(execution.action.lever)
    survives = lever is not None and lever.lasts
    applied_at = _applied_at(execution)
    changed = change_detection.read_changed_objects(
        execution.client, context["subjects"], survives=survives, since=applied_at, now=now
    )
    if changed.undone is not None:
        return _end_reverted(execution, changed.undone)
    if changed.missing:
        return _wait_for_missing(execution, changed.missing)
    context.pop("missing_since", None)
    notes = [note for note in changed.notes if note not in context.setdefault("notes", [])]
    if notes:
        context["notes"] = [*context["notes"], *notes][-MAX_NOTES:]
        context["quiet_since"] = now.isoformat()
    if changed.is_recreated:
        _follow_recreated_jobs(execution, changed.raws)
    if notes or changed.is_recreated:
        # Another worker may do the next check and must not report the same notes again.
        execution.write(context=True)
    return _decide(execution, changed.raws, _read_pods(execution))


def _applied_at(execution: ActionExecution) -> datetime:
    return execution.action.applied_at or execution.action.sent_at or execution.action.requested_at


def _live_reader(execution: ActionExecution) -> LiveReader:
    return LiveReader(execution.client, execution.context.get("versions", {}))


def _read_pods(execution: ActionExecution) -> tuple[Pod, ...]:
    if execution.action.verb != Verb.SUSPEND:
        return ()
    live, namespace = _live_reader(execution), execution.action.namespace
    selector = execution.context.get("selector")
    labelled = live.labelled_pods(namespace, selector) if selector else ()
    return (*labelled, *live.pods(namespace, execution.context["jobs"]))


def _follow_recreated_jobs(execution: ActionExecution, raws: list[Json]) -> None:
    """Store the uids of re-created Jobs, so that their pods are watched from now on."""
    for raw in raws:
        if is_job(*patches.kind_of(raw)):
            name = raw["metadata"]["name"]
            jobs = {uid: job for uid, job in execution.context["jobs"].items() if job != name}
            execution.context["jobs"] = {**jobs, raw["metadata"]["uid"]: name}


def _decide(execution: ActionExecution, raws: list[Json], pods: tuple[Pod, ...]) -> float:
    """End the action if the change has held or the time is up, else update its message."""
    context = execution.context
    watched = (execution.now - _watched_since(execution)).total_seconds()
    remaining = pod_checks.live_pods(pods)
    has_acted = all(_has_acted(execution, raw) for raw in raws)
    if watched >= context["watch"] and not remaining and has_acted:
        hold = recorded_hold(execution.action)
        loss = change_detection.find_hold_loss(execution.client, hold) if hold is not None else ""
        return _end_without_hold(execution, loss) if loss else _end_verified(execution)
    if watched > max(context["watch"], context["grace"] + BEYOND_GRACE):
        return _end_incomplete(execution, remaining)
    message = _progress_message(execution, remaining, has_acted=has_acted)
    if message != execution.action.message:
        execution.write(message=message, context=True)
    if watched < FIRST_PAUSE:
        return FIRST_PAUSE
    return PAUSE if watched < QUICK_SECONDS else LONG_PAUSE


def _watched_since(execution: ActionExecution) -> datetime:
    """Return when the action was sent, or when another client last changed the spec after that."""
    quiet = execution.context.get("quiet_since")
    return (
        datetime.fromisoformat(quiet)
        if quiet
        else execution.action.sent_at or _applied_at(execution)
    )


def _progress_message(
    execution: ActionExecution, remaining: tuple[Pod, ...], *, has_acted: bool
) -> str:
    watching = f"{execution.done_word}, watching"
    if remaining:
        return f"{watching}: {pod_checks.ending_text(remaining, execution.now)}."
    if not has_acted:
        return f"{watching}: its controller has not confirmed it yet."
    if execution.action.verb != Verb.SUSPEND or not _can_find_pods(execution):
        return f"{watching} that it stays so."
    return f"{watching}: its pods are gone."


def _can_find_pods(execution: ActionExecution) -> bool:
    """Return whether the action can find its pods, and thus knows that they are gone."""
    return bool(execution.context["jobs"] or execution.context.get("selector"))


def _has_acted(execution: ActionExecution, raw: Json) -> bool:
    """Return whether the controller has confirmed the change. True if it never confirms changes."""
    suspends = execution.action.verb == Verb.SUSPEND
    lever = registry.lever(execution.action.lever)
    confirms_action = lever.confirms_action(raw, suspends) if lever is not None else None
    if confirms_action is not None:
        return confirms_action
    kind = registry.owner_kind(*patches.kind_of(raw))
    if not suspends or kind is None:
        return True
    if patches.value_at(raw, patches.pointer_to(kind.suspend_field)) is not True:
        return True
    return kind.has_acted(raw.get("status") or {})


def _end_verified(execution: ActionExecution) -> float:
    notes = [*execution.context.get("notes", []), *sibling_changes(execution)]
    suspends = execution.action.verb == Verb.SUSPEND
    if not suspends:
        sentence = f"{execution.object_name} was {execution.done_word.lower()} and stays so."
        if not execution.context["subjects"]:
            sentence = f"The Hold on {execution.object_name} is gone. Nothing else was changed."
    elif execution.action.lever == HOLD_LEVER:
        sentence = (
            f"{execution.object_name} is held: suspended, its pods are gone, siblings untouched."
        )
    else:
        pods_text = "; its pods are gone" if _can_find_pods(execution) else ""
        state = execution.done_word.lower()
        sentence = f"{execution.object_name} is {state} and stays so{pods_text}."
    if notes:
        sentence = sentence.replace(", siblings untouched", "")

    def update_related() -> None:
        unguard_older_actions(execution.action)
        _save_build_proof(execution, held=True)

    execution.checkpoint("verified:before-writing")
    finish(
        execution,
        ActionExit(
            ActionState.VERIFIED,
            " ".join([sentence, *notes]),
            {"warnings": [*execution.action.warnings, *notes], "guarded": suspends},
        ),
        update_related,
    )
    return 0.0


def _end_without_hold(execution: ActionExecution, loss: str) -> float:
    """End the action: the Job is suspended, but its Hold is lost."""
    seconds = (execution.now - _applied_at(execution)).total_seconds()
    sentence = (
        f"Hold lost: {loss} {execution.object_name} is still suspended, but nothing keeps it so."
    )
    return exit_early(
        execution, ActionExit(ActionState.REVERTED, sentence, {"held_seconds": seconds})
    )


def _end_reverted(execution: ActionExecution, undone: change_detection.Undone) -> float:
    execution.write(in_transaction=lambda: _save_build_proof(execution, held=False))
    return exit_early(
        execution,
        ActionExit(
            ActionState.REVERTED,
            f"It did not hold: {undone.sentence} {execution.object_name} is not {execution.done_word.lower()}.{_advice(execution)}",
            {
                "reverted_by": undone.manager[:253],
                "held_seconds": undone.held_seconds,
            },
        ),
    )


def _advice(execution: ActionExecution) -> str:
    """Return advice to use a Hold after a plain suspend of one Job was reverted, or an empty string."""
    action = execution.action
    lever = registry.lever(action.lever)
    if lever is None or not lever.is_bare:
        return ""
    if action.verb != Verb.SUSPEND or action.cluster is None:
        return ""
    hold = registry.lever(HOLD_LEVER)
    if hold is None:
        return ""
    missing = hold.unavailable(read_levers(action.cluster))
    if missing is None:
        return " A Hold would keep it suspended: request it again without forcing it."
    return f" A Hold would keep it suspended. What is needed: {missing.needs}"


def _wait_for_missing(execution: ActionExecution, name: str) -> float:
    """Wait for an object that its restarting JobSet may re-create, or end the action."""
    context, now = execution.context, execution.now
    since = _parse_time(context.get("missing_since"))
    owner = context.get("above")
    if since is None:
        context["missing_since"] = now.isoformat()
        execution.write(context=True)
        since = now
    waits = (now - since).total_seconds() < MISSING_SECONDS and execution.action.lever == HOLD_LEVER
    if waits and owner is not None and get_object(execution.client, owner["path"]) is not None:
        return PAUSE
    return exit_early(
        execution, ActionExit(ActionState.GONE, f"{name} was deleted while it was watched.")
    )


def _end_incomplete(execution: ActionExecution, remaining: tuple[Pod, ...]) -> float:
    """End the action as failed: the change holds, but its effect is missing. The change stays."""
    if remaining:
        reason = f"but its pods do not go: {pod_checks.places_text(remaining)}"
    else:
        reason = "but its controller does not confirm it"
    sentence = f"{execution.object_name} is suspended and has stayed so, {reason}."
    finish(
        execution,
        ActionExit(ActionState.FAILED, sentence, {"guarded": True}),
        lambda: unguard_older_actions(execution.action),
    )
    return 0.0


def _save_build_proof(execution: ActionExecution, *, held: bool) -> None:
    """Store whether this build of the owner's controller leaves a Job alone that asks for that."""
    action, claim = execution.action, execution.context.get("claim")
    lever = registry.lever(action.lever)
    if lever is None or not lever.depends_on_build or action.verb != Verb.SUSPEND or not claim:
        return
    if action.cluster is not None:
        build = action.cluster.controller_build
        save_lever_proof(action.cluster.pk, lever.key, held=held, at=execution.now, build=build)


def _parse_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
