"""Which actions and audit lines a list shows: what a viewer may see and asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from gangboard.readmodels.cursors import SortKey
from gangboard.readmodels.word_search import all_occur_in
from gangboard.store.access import Viewer
from gangboard.store.models import Action, AuditEntry

ACTION_KEYS = (SortKey("requested_at", descending=True), SortKey("id", descending=True))
AUDIT_KEYS = (SortKey("at", descending=True), SortKey("pk", descending=True))


ACTION_EVENTS = ("requested", "denied", "state", "stopped")
ADMIN_EVENTS = (
    *("signed-in", "sign-in-failed", "signed-out", "link-made"),
    *("user-made", "user-enabled", "user-disabled", "role-given", "role-taken"),
    *("password-changed", "token-made", "token-revoked", "token-refused"),
    *("cluster-added", "cluster-changed", "cluster-removed", "switch", "export"),
    "keys-rotated",
)
"""Events of the audit that concern a whole cluster or the installation: shown to their admins."""


WITHIN: Mapping[str, tuple[str, timedelta]] = {
    "1h": ("last hour", timedelta(hours=1)),
    "12h": ("last 12 h", timedelta(hours=12)),
    "24h": ("last 24 h", timedelta(hours=24)),
    "7d": ("last 7 days", timedelta(days=7)),
}
"""What `within` may be, with its label."""


@dataclass(frozen=True, slots=True)
class ActionFilters:
    """Which actions are asked for. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    verb: str = ""
    state: str = ""
    actor: str = ""
    lever: str = ""
    q: str = ""
    """Words that must all occur in names, reason, message or actor."""
    within: str = ""
    """One of WITHIN: asked for since then; any other word asks for all."""
    open: bool = False
    """Only those that are not over."""


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """Which lines of the audit are asked for. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    actor: str = ""
    event: str = ""
    q: str = ""
    within: str = ""
    """As that of actions: written since then."""


def select_actions(*, viewer: Viewer, filters: ActionFilters) -> QuerySet[Action]:
    """Return the actions on namespaces that the viewer may see, unordered."""
    columns = {
        "cluster_name": filters.cluster,
        "namespace": filters.namespace,
        "verb": filters.verb,
        "state": filters.state,
        "actor_name": filters.actor,
        "lever": filters.lever,
    }
    found = Action.objects.filter(viewer.gang_filter(), _equal(columns))
    found = found.filter(_since("requested_at", filters.within))
    if filters.open:
        found = found.filter(finished_at=None)
    searched = ("name", "namespace", "kind", "cluster_name", "reason", "message", "actor_name")
    return found.filter(all_occur_in(filters.q, searched))


def select_audit(*, viewer: Viewer, filters: AuditFilters) -> QuerySet[AuditEntry]:
    """Return the audit lines that the viewer may see, unordered.

    Lines about a namespace are for who sees that namespace; lines about a whole cluster or the
    whole installation are for their admins.
    """
    columns = {
        "cluster_name": filters.cluster,
        "namespace": filters.namespace,
        "actor_name": filters.actor,
        "event": filters.event,
    }
    visible = (viewer.gang_filter() & ~Q(namespace="")) | _wide_lines(viewer)
    searched = ("object_name", "namespace", "cluster_name", "sentence", "actor_name")
    asked = _equal(columns) & _since("at", filters.within) & all_occur_in(filters.q, searched)
    return AuditEntry.objects.filter(visible, asked)


def newest_of_each_action(found: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Return the lines about no action, and of each action the newest of these lines."""
    newer = found.filter(action_id=OuterRef("action_id"), pk__gt=OuterRef("pk"))
    return found.filter(Q(action_id=None) | ~Exists(newer))


def _wide_lines(viewer: Viewer) -> Q:
    if viewer.is_admin:
        return Q(namespace="")
    own = [
        scope.cluster_id
        for scope in viewer.scopes
        if scope.role == "admin" and not scope.namespace and scope.cluster_id is not None
    ]
    return Q(namespace="", cluster_id__in=own)


def _since(column: str, within: str) -> Q:
    known = WITHIN.get(within)
    return Q() if known is None else Q(**{f"{column}__gte": timezone.now() - known[1]})


def _equal(columns: dict[str, str]) -> Q:
    return Q(**{column: value for column, value in columns.items() if value})
