"""applied → verified, or reverted with the one who did it, in one check after the other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gangboard.actions import patches
from gangboard.actions.actor_client import Json, get_object
from gangboard.actions.checking import restarts_of
from gangboard.actions.drift_detection import unguard_older_actions
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early, finish
from gangboard.actions.live_objects import Live
from gangboard.actions.verify import change_detection, pod_checks
from gangboard.domain.action import ActionState, Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.objects import is_job
from gangboard.domain.pod import Pod
from gangboard.plugins import registry
from gangboard.store.levers import read_levers, save_lever_proof
from gangboard.store.suspend_records import relied_on

FIRST_PAUSE, PAUSE, LONG_PAUSE = 0.1, 0.25, 1.0
QUICK_SECONDS = 4.0
"""Looks are close together at first: a revert was seen after 0.08 s, and people wait for the end."""
BEYOND_GRACE = 60.0
"""Seconds after the end of their grace at which pods that are still there are not waited for."""
MISSING_SECONDS = 30.0
"""How long a Job may be away while its JobSet restarts."""
_MOST_NOTES = 10


def watch(execution: ActionExecution) -> float:
    """Look once; return the seconds until the next look, 0 when it is over. Raises KubeError."""
    context, now = execution.context, execution.now
    lever = registry.lever(execution.action.lever)
    survives = lever is not None and lever.lasts
    applied_at = _applied_at(execution)
    seen = change_detection.look(
        execution.client, context["subjects"], survives=survives, since=applied_at, now=now
    )
    if seen.undone is not None:
        return _reverted(execution, seen.undone)
    if seen.missing:
        return _missing(execution, seen.missing)
    context.pop("missing_since", None)
    notes = [note for note in seen.moved if note not in context.setdefault("notes", [])]
    if notes:
        context["notes"] = [*context["notes"], *notes][-_MOST_NOTES:]
        context["quiet_since"] = now.isoformat()
    if seen.renewed:
        _follow(execution, seen.raws)
    if notes or seen.renewed:
        # The next look may be another worker's: it must not take them for news again.
        execution.write(context=True)
    return _decide(execution, seen.raws, _pods(execution))


def _applied_at(execution: ActionExecution) -> datetime:
    return execution.action.applied_at or execution.action.sent_at or execution.action.requested_at


def _live(execution: ActionExecution) -> Live:
    return Live(execution.client, execution.context.get("versions", {}))


def _pods(execution: ActionExecution) -> tuple[Pod, ...]:
    if execution.action.verb != Verb.SUSPEND:
        return ()
    live, namespace = _live(execution), execution.action.namespace
    selector = execution.context.get("selector")
    found = live.labelled_pods(namespace, selector) if selector else ()
    return (*found, *live.pods(namespace, execution.context["jobs"]))


def _follow(execution: ActionExecution, raws: list[Json]) -> None:
    """A Job was re-created: from now on its pods are those of the new one."""
    for raw in raws:
        if is_job(*_kind_of(raw)):
            name = raw["metadata"]["name"]
            jobs = {uid: job for uid, job in execution.context["jobs"].items() if job != name}
            execution.context["jobs"] = {**jobs, raw["metadata"]["uid"]: name}


def _decide(execution: ActionExecution, raws: list[Json], pods: tuple[Pod, ...]) -> float:
    """Say that it has held, or how it stands."""
    context = execution.context
    watched = (execution.now - _watched_since(execution)).total_seconds()
    left = pod_checks.live_pods(pods)
    acted = all(_has_acted(execution, raw) for raw in raws)
    if watched >= context["watch"] and not left and acted:
        hold = relied_on(execution.action)
        lost = change_detection.find_hold_loss(execution.client, hold) if hold is not None else ""
        return _hold_lost(execution, lost) if lost else _verified(execution)
    if watched > max(context["watch"], context["grace"] + BEYOND_GRACE):
        return _given_up(execution, left)
    message = _standing(execution, left, acted)
    if message != execution.action.message:
        execution.write(message=message, context=True)
    if watched < FIRST_PAUSE:
        return FIRST_PAUSE
    return PAUSE if watched < QUICK_SECONDS else LONG_PAUSE


def _watched_since(execution: ActionExecution) -> datetime:
    """Return when it was sent, or when somebody changed its spec last after that."""
    quiet = execution.context.get("quiet_since")
    return (
        datetime.fromisoformat(quiet)
        if quiet
        else execution.action.sent_at or _applied_at(execution)
    )


def _standing(execution: ActionExecution, left: tuple[Pod, ...], acted: bool) -> str:
    watched = f"{execution.done_word}, watching"
    if left:
        return f"{watched}: {pod_checks.ending_text(left, execution.now)}."
    if not acted:
        return f"{watched}: its controller has not confirmed it yet."
    if execution.action.verb != Verb.SUSPEND or not _has_pods(execution):
        return f"{watched} that it stays so."
    return f"{watched}: its pods are gone."


def _has_pods(execution: ActionExecution) -> bool:
    """Whether it is known how its pods are found, so that it was seen that they are gone."""
    return bool(execution.context["jobs"] or execution.context.get("selector"))


def _has_acted(execution: ActionExecution, raw: Json) -> bool:
    """Whether the controller has said that it has acted, where it says such things."""
    suspends = execution.action.verb == Verb.SUSPEND
    lever = registry.lever(execution.action.lever)
    in_effect = lever.in_effect(raw, suspends) if lever is not None else None
    if in_effect is not None:
        return in_effect
    kind = registry.owner_kind(*_kind_of(raw))
    if not suspends or kind is None:
        return True
    if patches.value_at(raw, patches.pointer_to(kind.suspend_field)) is not True:
        return True
    return kind.has_acted(raw.get("status") or {})


def _kind_of(raw: Json) -> tuple[str, str]:
    """Return API group and kind of an object as served."""
    return str(raw.get("apiVersion", "")).rpartition("/")[0], str(raw.get("kind", ""))


def _verified(execution: ActionExecution) -> float:
    notes = [*execution.context.get("notes", []), *_sibling_changes(execution)]
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
        gone = "; its pods are gone" if _has_pods(execution) else ""
        state = execution.done_word.lower()
        sentence = f"{execution.object_name} is {state} and stays so{gone}."
    if notes:
        sentence = sentence.replace(", siblings untouched", "")

    def also() -> None:
        unguard_older_actions(execution.action)
        _note_native(execution, held=True)

    execution.checkpoint("verified:before-writing")
    finish(
        execution,
        ActionExit(
            ActionState.VERIFIED,
            " ".join([sentence, *notes]),
            {"warnings": [*execution.action.warnings, *notes], "guarded": suspends},
        ),
        also,
    )
    return 0.0


def _sibling_changes(execution: ActionExecution) -> list[str]:
    """Return what has happened to the siblings, the owner's own restart first. Raises KubeError."""
    context = execution.context
    before, above = context["siblings"], context.get("above")
    found = []
    if above is not None:
        found += _restart(execution, above)
    if before["pods"]:
        pods = _live(execution).pods(execution.action.namespace, before["jobs"])
        ended = frozenset(
            pod.meta.controller.uid
            for pod in pods
            if pod.phase == "Succeeded" and pod.meta.controller is not None
        )
        if not found:
            found += pod_checks.sibling_changes(before["pods"], pods, finished=ended)
    return found[:_MOST_NOTES]


def _restart(execution: ActionExecution, above: dict[str, Any]) -> list[str]:
    raw = get_object(execution.client, above["path"])
    if raw is None or raw["metadata"]["uid"] != above["uid"]:
        return [f"{above['name']} is gone."]
    kind = registry.owner_kind(above["group"], above["kind"])
    assert kind is not None  # noqa: S101  # it was when it was written down
    seen = _live(execution).seen(kind, execution.action.namespace, raw["metadata"]["name"])
    restarts = restarts_of(seen.owner) if seen is not None else 0
    if restarts <= above["restarts"]:
        return []
    return [
        f"{above['name']} has restarted meanwhile (restart {restarts}), so its Jobs have new pods; "
        "this action did not cause that."
    ]


def _hold_lost(execution: ActionExecution, why: str) -> float:
    """End: the Job is suspended, and nothing keeps it so."""
    seconds = (execution.now - _applied_at(execution)).total_seconds()
    sentence = (
        f"Hold lost: {why} {execution.object_name} is still suspended, but nothing keeps it so."
    )
    return exit_early(
        execution, ActionExit(ActionState.REVERTED, sentence, {"held_seconds": seconds})
    )


def _reverted(execution: ActionExecution, undone: change_detection.Undone) -> float:
    def also() -> None:
        _note_native(execution, held=False)

    execution.write(also=also)
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
    """Return what would have held where a bare suspend of one Job did not; empty elsewhere."""
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
        return " A Hold would keep it suspended: ask again without forcing it."
    return f" A Hold would keep it suspended. What is needed: {missing.needs}"


def _missing(execution: ActionExecution, name: str) -> float:
    """The object is away: between two lives while its JobSet restarts, or for good."""
    context, now = execution.context, execution.now
    since = _moment(context.get("missing_since"))
    above = context.get("above")
    if since is None:
        context["missing_since"] = now.isoformat()
        execution.write(context=True)
        since = now
    waits = (now - since).total_seconds() < MISSING_SECONDS and execution.action.lever == HOLD_LEVER
    if waits and above is not None and get_object(execution.client, above["path"]) is not None:
        return PAUSE
    return exit_early(
        execution, ActionExit(ActionState.GONE, f"{name} was deleted while it was watched.")
    )


def _given_up(execution: ActionExecution, left: tuple[Pod, ...]) -> float:
    """It holds, and yet it is not as it should be. What was done stays: it was asked for."""
    if left:
        why = f"but its pods do not go: {pod_checks.places_text(left)}"
    else:
        why = "but its controller does not confirm it"
    sentence = f"{execution.object_name} is suspended and has stayed so, {why}."
    finish(
        execution,
        ActionExit(ActionState.FAILED, sentence, {"guarded": True}),
        lambda: unguard_older_actions(execution.action),
    )
    return 0.0


def _note_native(execution: ActionExecution, *, held: bool) -> None:
    """Remember whether this build of the controller above leaves a Job alone that asked for it."""
    action, claim = execution.action, execution.context.get("claim")
    lever = registry.lever(action.lever)
    if lever is None or not lever.told_by_build or action.verb != Verb.SUSPEND or not claim:
        return
    if action.cluster is not None:
        build = action.cluster.controller_build
        save_lever_proof(action.cluster.pk, lever.key, held=held, at=execution.now, build=build)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
