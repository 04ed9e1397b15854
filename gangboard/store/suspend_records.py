"""The newest suspend of each object in gangboard's own record, for the sentence of its gang."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.action import ActionState, Verb
from gangboard.domain.suspension import RecordedSuspend
from gangboard.store.models import Action

_WITHOUT_EFFECT = (
    ActionState.REFUSED,
    ActionState.CONFLICT,
    ActionState.GONE,
    ActionState.EXPIRED,
    ActionState.FAILED,
)


def recorded_suspends(cluster_id: int, namespaces: Mapping[str, str]) -> dict[str, RecordedSuspend]:
    """Return, by uid, the suspend that is the newest action on each object (1 query, none without objects).

    `namespaces` are those of the objects, by uid. Both must match: a uid is text of the cluster.

    Actions that were not sent, or had no effect, do not count. A newer resume ends a suspend, also one
    that was turned back: it is not known who suspended the object after that.
    """
    if not namespaces:
        return {}
    rows = (
        Action.objects.filter(
            cluster_id=cluster_id, uid__in=list(namespaces), sent_at__isnull=False
        )
        .exclude(state__in=_WITHOUT_EFFECT)
        .order_by("uid", "requested_at", "id")
        .values_list("uid", "namespace", "verb", "state", "actor_name", "reason", "sent_at")
    )
    found: dict[str, RecordedSuspend] = {}
    for uid, namespace, verb, state, actor, reason, sent_at in rows:
        if namespace != namespaces[uid]:
            continue
        found.pop(uid, None)
        if sent_at is not None and verb == Verb.SUSPEND and state != ActionState.REVERTED:
            found[uid] = RecordedSuspend(actor, reason, sent_at)
    return found
