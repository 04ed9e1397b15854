"""Which verified actions the sweeper goes on comparing with what the poll sees."""

from __future__ import annotations

from gangboard.store.models import Action


def guard(action: Action) -> None:
    """Let go of older actions on the same objects: the newest word counts. In a transaction."""
    unguard_others(action)


def unguard_others(action: Action) -> None:
    """Stop comparing older actions that are about an object of this one."""
    own = paths(action)
    older = Action.objects.filter(
        cluster=action.cluster, namespace=action.namespace, guarded=True
    ).exclude(pk=action.pk)
    overruled = [
        one.pk
        for one in older
        if paths(one) & own or (one.kind, one.name) == (action.kind, action.name)
    ]
    if overruled:
        Action.objects.filter(pk__in=overruled).update(guarded=False)


def paths(action: Action) -> set[str]:
    """Return the URL paths of the objects that an action has changed."""
    return {subject["path"] for subject in action.context.get("subjects", ())}
