"""Queries of the actions that a viewer may see, for pages, API and messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import QuerySet

from gangboard.domain.action import ActionState, StepKind, Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.plugins import registry
from gangboard.readmodels.action_labels import action_face, lever_label
from gangboard.readmodels.action_rows import ActionEndRow, ActionRow, StepRow, TargetRow
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer
from gangboard.store.actions import avoid_text
from gangboard.store.gang_objects import action_models, find_gangs
from gangboard.store.models import Action, ActionStep, Cluster
from gangboard.store.uid_lookups import Reference, read_referenced

MOST_OF_GANG = 50
"""Actions on one gang's page."""
LONGEST_PATCH = 20_000
"""Characters of a printed patch. The patches of gangboard have a few hundred."""
_DONE = (ActionState.APPLIED, ActionState.VERIFIED)


def action_row(*, viewer: Viewer, action_id: str) -> ActionRow | None:
    """Return an action, or None if it does not exist or the viewer may not see it (at most 3 queries)."""
    if "\x00" in action_id:  # PostgreSQL refuses NUL
        return None
    actions = Action.objects.filter(viewer.gang_filter(), pk=action_id)
    return next(iter(with_ends(viewer, action_rows(actions))), None)


def actions_of_gang(*, viewer: Viewer, gang_id: str) -> tuple[ActionRow, ...]:
    """Return the last actions on a gang, perhaps a deleted one, and its Jobs, the newest first."""
    actions = Action.objects.filter(viewer.gang_filter(), gang_id=gang_id)
    return action_rows(actions.order_by("-requested_at", "-id")[:MOST_OF_GANG])


def actions_by_id(*, viewer: Viewer, ids: Collection[str]) -> dict[str, ActionRow]:
    """Return the actions with these ids that the viewer may see (no query without ids, else 2)."""
    if not ids:
        return {}
    actions = Action.objects.filter(viewer.gang_filter(), pk__in=ids)
    return {row.id: row for row in action_rows(actions)}


def existing_objects(rows: Iterable[ActionRow], *, viewer: Viewer) -> frozenset[str]:
    """Return the ids of the actions whose object still exists and can be acted on.

    The object is part of an existing gang, or it makes gangs itself. A restart re-creates a Job with
    another uid. This takes 2 queries, and 2 for each level of owners.
    """
    listed = tuple(rows)
    clusters = dict(
        Cluster.objects.filter(
            viewer.cluster_filter(), name__in={row.cluster for row in listed}
        ).values_list("name", "pk")
    )
    references = {
        row.id: Reference(clusters[row.cluster], row.namespace, row.uid)
        for row in listed
        if row.cluster in clusters
    }
    objects = read_referenced(references.values(), action_models())
    gangs = find_gangs(objects, objects)
    return frozenset(
        row.id
        for row in listed
        if (reference := references.get(row.id)) in objects
        and (reference in gangs or registry.makes_gangs(row.target.api_group, row.kind))
    )


def action_rows(actions: QuerySet[Action]) -> tuple[ActionRow, ...]:
    """Return the rows of stored actions (2 queries)."""
    return tuple(make_row(action) for action in actions.prefetch_related("steps"))


def make_row(action: Action) -> ActionRow:
    """Return the row of an action whose steps are prefetched."""
    steps = list(action.steps.all())
    return ActionRow(
        id=action.pk,
        verb=action.verb,
        button=printable(action.button),
        target=_target(action),
        gang_id=action.gang_id,
        state=action.state,
        is_final=action.finished_at is not None,
        lever=action.lever,
        reason=printable(action.reason),
        actor=printable(action.actor_name),
        via=action.via,
        forced=action.forced,
        message=printable(action.message),
        warnings=tuple(printable(str(text)) for text in action.warnings),
        reactions=tuple(printable(str(text)) for text in action.reactions),
        before=_texts(action.before),
        after=_texts(action.after),
        steps=tuple(_step(step) for step in steps),
        reverted_by=printable(action.reverted_by),
        held_seconds=action.held_seconds,
        until=action.until,
        avoid=printable(avoid_text(action)),
        batch=action.batch,
        requested_at=action.requested_at,
        sent_at=action.sent_at,
        applied_at=action.applied_at,
        finished_at=action.finished_at,
        face=action_face(
            action.state,
            action.verb,
            action.lever,
            reverted_by=action.reverted_by,
            only_released=_only_released(action, steps),
        ),
        lever_label=lever_label(action.lever, forced=action.forced),
        nodes=tuple(printable(str(node)) for node in action.context.get("nodes", ())),
        stop_asked=bool(action.stop_asked_by),
        watched_until=_watched_until(action),
    )


def with_ends(viewer: Viewer, rows: Iterable[ActionRow]) -> tuple[ActionRow, ...]:
    """Return the rows. `ended` of a successful suspend is the next resume of its object.

    This takes 1 query if there are successful suspends, else none.
    """
    listed = tuple(rows)
    stopped = [row for row in listed if row.verb == Verb.SUSPEND and row.state in _DONE]
    if not stopped:
        return listed
    resumes_by_object: dict[tuple[str, str], list[ActionEndRow]] = {}
    resumes = Action.objects.filter(
        viewer.gang_filter(),
        uid__in={row.uid for row in stopped},
        verb=Verb.RESUME,
        state__in=_DONE,
    ).order_by("requested_at", "id")
    for resume in resumes:
        time = resume.applied_at or resume.finished_at or resume.requested_at
        row_end = ActionEndRow(printable(resume.actor_name), time, resume.pk)
        resumes_by_object.setdefault((resume.cluster_name, resume.uid), []).append(row_end)
    return tuple(
        _with_end(row, resumes_by_object.get((row.cluster, row.uid), ())) for row in listed
    )


def _with_end(row: ActionRow, resumes: Iterable[ActionEndRow]) -> ActionRow:
    if row.verb != Verb.SUSPEND or row.state not in _DONE:
        return row
    suspended_at = row.applied_at or row.sent_at or row.requested_at
    resume = next((resume for resume in resumes if resume.at >= suspended_at), None)
    if resume is None:
        return row
    ended = replace(resume, after_seconds=(resume.at - suspended_at).total_seconds())
    face = Face(row.face.word, f"Was {row.label.lower()}", "–", "unknown")
    return replace(row, face=face, ended=ended)


def _target(action: Action) -> TargetRow:
    return TargetRow(
        cluster=action.cluster_name,
        api_group=printable(action.api_group),
        kind=printable(action.kind),
        namespace=printable(action.namespace),
        name=printable(action.name),
        uid=printable(action.uid),
        generation=action.generation,
    )


def _step(step: ActionStep) -> StepRow:
    return StepRow(
        name=printable(step.name),
        method=step.method,
        path=printable(step.path),
        patch=printable(step.patch, LONGEST_PATCH),
        dry_run=step.dry_run,
        state=step.state,
        result=printable(step.result),
        at=step.at,
    )


def _texts(fields: dict[str, object]) -> dict[str, str]:
    return {printable(str(name)): printable(str(value)) for name, value in fields.items()}


def _watched_until(action: Action) -> datetime | None:
    """Return the end of the watch, counted from the request or from the last change of the spec."""
    seconds, quiet = action.context.get("watch"), action.context.get("quiet_since")
    since = datetime.fromisoformat(quiet) if quiet else action.sent_at
    if action.state != ActionState.APPLIED or since is None or not seconds:
        return None
    return since + timedelta(seconds=seconds)


def _only_released(action: Action, steps: Iterable[ActionStep]) -> bool:
    """Return whether a release only deletes the Hold, because the JobSet itself is suspended."""
    if action.verb != Verb.RESUME or action.lever != HOLD_LEVER:
        return False
    kinds = {step.kind for step in steps}
    return StepKind.DELETE_HOLD in kinds and StepKind.PATCH not in kinds
