"""Filters and orderings of lists of gangs.

They apply to the shown values: a gang of a silent cluster counts as unknown, so filters, counts and rows agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, F, Q, QuerySet, SmallIntegerField, Value, When
from django.db.models.functions import Coalesce

from gangboard.domain.health import Health
from gangboard.readmodels.cursors import CLUSTER_NAME, SortKey
from gangboard.readmodels.filters import Label, search_words
from gangboard.readmodels.state_labels import NOT_OBSERVED
from gangboard.store.access import Viewer
from gangboard.store.gang_search import has_label, has_submitter, matches_words
from gangboard.store.models import Gang
from gangboard.store.submitters import names_of

_WORST_FIRST = (SortKey("shown_severity"), SortKey("since"), SortKey("id"))
_LAST_GONE_FIRST = (SortKey("gone_at", descending=True), SortKey("id"))
_ORDERINGS: dict[str, SortKey] = {
    "name": SortKey("name"),
    "since": SortKey("since"),
    "accelerators": SortKey("accelerators"),
    "priority": SortKey("shown_priority"),
    "created_at": SortKey("made_at"),
}
_UNKNOWN_LAST = {"shown_priority": (SortKey("priority_unknown"),)}
"""Sort keys before a column that may be unknown, so that gangs without a value are last in both directions."""
ORDERINGS: tuple[str, ...] = (
    "health",
    *(sign + name for name in _ORDERINGS for sign in ("", "-")),
)
"""Values of `ordering`. `health`: worst first, then longest waiting."""
_GROUPINGS: dict[str, tuple[SortKey, ...]] = {
    "reason": (SortKey("shown_severity"), SortKey("shown_code")),
    "namespace": (SortKey("namespace"),),
    "cluster": (SortKey(CLUSTER_NAME),),
}
GROUPINGS: tuple[str, ...] = tuple(_GROUPINGS)
"""Values of `group_by`."""


@dataclass(frozen=True, slots=True)
class GangFilters:
    """Filters of a list of gangs. Empty and None mean all."""

    cluster: str = ""
    namespace: str = ""
    api_group: str | None = None
    """An empty text is the core group, and None any group."""
    kind: str = ""
    health: tuple[str, ...] = ()
    code: str = ""
    name: str = ""
    """The exact name of the gang."""
    labels: tuple[Label, ...] = ()
    """Labels that the owner must all have."""
    submitter: str = ""
    """The person or program that created the gang. Case is ignored."""
    mine: bool = False
    """Gangs that the viewer submitted; see `store.submitters.names_of`."""
    since_before: datetime | None = None
    """The verdict began at this time or earlier."""
    queue: str = ""
    stage: str = ""
    q: str = ""
    """Words that must all occur in the gang's names or texts.

    Names are those of the gang, its namespace, kind, queue, cluster and submitter, and of its Jobs, pods, groups
    and nodes. Labels of the owner are texts such as `team=nlp`.
    """
    show_finished: bool | None = None
    """False hides succeeded gangs, unless a health is chosen."""
    gone: bool = False
    """Deleted gangs instead of existing ones. By default, the last deleted gang is first."""
    ordering: str = "health"
    """One of ORDERINGS."""
    group_by: str = ""
    """One of GROUPINGS or empty: rows of one group stand together."""

    @property
    def hides_finished(self) -> bool:
        """Whether succeeded gangs are left out."""
        return self.show_finished is False and not self.health and not self.gone

    @property
    def narrows_clusters(self) -> bool:
        """Whether a filter other than cluster and health is set. Curves cover whole clusters and do not fit then."""
        names = (self.namespace, self.name, self.queue, self.submitter)
        texts = (*names, self.kind, self.code, self.stage, self.q)
        conditions = (self.labels, self.since_before, self.mine)
        return any(texts) or any(conditions) or self.api_group is not None

    def of_any_health(self) -> GangFilters:
        """Return the same filters for gangs of any health, which the tiles count."""
        return replace(self, health=(), show_finished=None, gone=False)


def sort_keys(filters: GangFilters) -> tuple[SortKey, ...]:
    """Return the columns of the order. The last one is unique. Raises ValueError for an unknown ordering or grouping."""
    if filters.ordering not in ORDERINGS:
        raise ValueError(f"ordering must be one of {', '.join(ORDERINGS)}")
    if filters.group_by and filters.group_by not in _GROUPINGS:
        raise ValueError(f"group_by must be one of {', '.join(GROUPINGS)}")
    keys: Sequence[SortKey] = _LAST_GONE_FIRST if filters.gone else _WORST_FIRST
    if filters.ordering != "health":
        key = _ORDERINGS[filters.ordering.removeprefix("-")]
        descending = filters.ordering.startswith("-")
        first = _UNKNOWN_LAST.get(key.field, ())
        keys = (*first, SortKey(key.field, descending), SortKey("id"))
    group = _GROUPINGS.get(filters.group_by, ())
    return (*group, *(key for key in keys if key not in group))


def select_gangs(*, viewer: Viewer, filters: GangFilters, silent: Sequence[int]) -> QuerySet[Any]:
    """Return the gangs that the filters leave and the viewer may see, unordered.

    The rows are annotated with `shown_health`, `shown_severity`, `shown_code`, `made_at`, and `shown_priority`
    (0 if `priority_unknown` is 1). The filter `mine` costs 1 query for the names of the viewer.
    """
    # The last state of a deleted gang stays known when its cluster becomes silent.
    silent = () if filters.gone else silent
    gangs: QuerySet[Any] = Gang.objects.filter(
        viewer.gang_filter(), gone_at__isnull=not filters.gone
    ).annotate(
        made_at=Coalesce("created_at", "first_seen_at"),
        shown_priority=Coalesce("priority_value", 0),
        priority_unknown=Case(
            When(priority_value=None, then=Value(1)),
            default=Value(0),
            output_field=SmallIntegerField(),
        ),
    )
    is_silent = Q(cluster_id__in=silent)
    if silent:
        gangs = gangs.annotate(
            shown_health=Case(
                When(is_silent, then=Value(Health.UNKNOWN.value)),
                default=F("health"),
                output_field=CharField(),
            ),
            shown_severity=Case(
                When(is_silent, then=Value(Health.UNKNOWN.severity)),
                default=F("severity"),
                output_field=SmallIntegerField(),
            ),
            shown_code=Case(
                When(is_silent, then=Value(NOT_OBSERVED)),
                default=F("code"),
                output_field=CharField(),
            ),
        )
    else:
        # Plain columns let the database use its indexes in the usual case.
        gangs = gangs.annotate(
            shown_health=F("health"), shown_severity=F("severity"), shown_code=F("code")
        )
    return gangs.filter(_conditions(filters, viewer, silent))


def _conditions(filters: GangFilters, viewer: Viewer, silent: Sequence[int]) -> Q:
    columns = {
        "cluster__name": filters.cluster,
        "namespace": filters.namespace,
        "kind": filters.kind,
        "queue": filters.queue,
        "name": filters.name,
        "since__lte": filters.since_before,
        "stage": filters.stage,
        "shown_code": filters.code,
    }
    condition = Q(**{column: value for column, value in columns.items() if value})
    if filters.api_group is not None:
        condition &= Q(api_group=filters.api_group)
    for key, text in filters.labels:
        condition &= has_label(key, text)
    if filters.submitter:
        condition &= has_submitter([filters.submitter], gone=filters.gone)
    if filters.mine:
        condition &= has_submitter(names_of(viewer.user_id), gone=filters.gone)
    if filters.health:
        condition &= Q(shown_health__in=filters.health)
    if filters.hides_finished:
        # Compare the stored health, so that finished gangs of a silent cluster stay hidden.
        condition &= ~Q(health=Health.SUCCEEDED.value)
    return condition & matches_words(search_words(filters.q), viewer, silent, gone=filters.gone)
