"""`gangs/`: the gangs of the Board for programs."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.domain.health import Health
from gangboard.domain.owner import LONGEST_SUBMITTER
from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import (
    HEALTHS,
    STAGES,
    HealthsField,
    PageQuery,
    check_values,
)
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.readmodels.cluster_visibility import UnobservedCluster, unread_clusters
from gangboard.readmodels.filters import label_text, read_labels
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import ORDERINGS, GangFilters, GangRow, list_gangs

_DURATION = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class LabelsField(serializers.CharField):
    """Labels, separated by commas: `team=nlp` or only `team`."""

    def to_internal_value(self, data: Any) -> Any:
        """Return (key, value) pairs, the value None where only a key is given. Raises ValidationError."""
        labels = read_labels(super().to_internal_value(data))
        for label in labels:
            if not label[0]:
                text = label_text(label)
                raise ValidationError(f"“{text}” is not a label: write KEY=VALUE or KEY.")
        return labels


class DurationField(serializers.CharField):
    """A time span such as `90s`, `10m`, `2h` or `7d`."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the timedelta. Raises ValidationError."""
        text = super().to_internal_value(data)
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ValidationError(f"“{text}” is not a time span: write 90s, 10m, 2h or 7d.")
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class GangQuery(PageQuery):
    """The query of `gangs/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=253, help_text="Name of a namespace."
    )
    api_group = serializers.CharField(
        required=False,
        max_length=253,
        allow_blank=True,
        help_text="API group of the owner; empty for the core group.",
    )
    kind = serializers.CharField(
        required=False, max_length=63, help_text="Kubernetes kind of the owner, such as `JobSet`."
    )
    health = HealthsField(
        required=False,
        help_text=f"One or more of {', '.join(HEALTHS)}; separated by commas.",
    )
    code = serializers.CharField(
        required=False, max_length=64, help_text="Reason code, such as `fragmented`."
    )
    name = serializers.CharField(
        required=False, max_length=253, help_text="The exact name of the gang."
    )
    label = LabelsField(  # type: ignore[assignment]  # as DRF's own attribute
        required=False,
        max_length=1000,
        help_text="Labels that the owner must all have: `team=nlp` or only `team`; separated by commas.",
    )
    submitter = serializers.CharField(
        required=False,
        max_length=LONGEST_SUBMITTER,
        help_text="The person or program that created the owner. Case is ignored.",
    )
    mine = serializers.BooleanField(
        default=False,
        help_text="Gangs that the caller submitted. The submitter is the user name or mail address of the account, "
        "the part of these before the `@`, the name from a trusted proxy, or a name that the caller declared on the "
        "Account page.",
    )
    blocked_for = DurationField(
        required=False,
        help_text="Gangs that have been blocked for at least this long, such as `10m`.",
    )
    since_before = serializers.DateTimeField(
        required=False, help_text="Gangs whose verdict began at this time or earlier."
    )
    queue = serializers.CharField(
        required=False, max_length=253, help_text="Name of a queue, as in the field `queue`."
    )
    stage = serializers.ChoiceField(
        STAGES, required=False, help_text="The stage that the gang has not passed yet."
    )
    q = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words that must all occur in the names of the gang, its namespace, kind, queue, "
        "cluster, submitter, labels, Jobs, pods, groups and nodes, or in its reason; in its sentence only in clusters "
        "that the caller may see as a whole.",
    )
    gone = serializers.BooleanField(
        default=False,
        help_text="Deleted gangs instead of those that exist, the last deleted first. `health` is their last "
        "one, and `observed_at` is when they were seen deleted.",
    )
    ordering = serializers.ChoiceField(
        ORDERINGS, default="health", help_text="`health`: worst first, then longest."
    )


class GangListSerializer(list_serializer_of(GangRow)):  # type: ignore[misc]  # made at run time
    """One page of gangs."""

    unseen = serializer_of(UnobservedCluster)(
        many=True, help_text="Clusters that were not read completely yet: gangs may be missing."
    )


class GangListView(ReadView):
    """All gangs that the caller may see."""

    @extend_schema(
        operation_id="list_gangs",
        parameters=[GangQuery],
        responses={200: GangListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List gangs, the worst first, finished ones included.

        What could not be looked at is in `unseen`: absence from `results` means nothing there.
        """
        query, paging = read_list_query(request, GangQuery, serializer_of(GangRow))
        viewer, now = self.viewer(), self.now()
        filters = _filters(query, now)
        check_values(viewer, cluster=filters.cluster, code=filters.code)
        clusters = read_freshness(viewer=viewer, now=now)
        with cursor_errors():
            page = list_gangs(
                viewer=viewer,
                filters=filters,
                limit=paging.limit,
                cursor=paging.cursor,
                now=now,
                clusters=clusters,
            )
        unread = unread_clusters(
            cluster for cluster in clusters.values() if filters.cluster in ("", cluster.cluster)
        )
        unread_rows = serializer_of(UnobservedCluster)(unread, many=True, context={"now": now}).data
        return list_response(
            request, paging, serializer_of(GangRow), page.rows, page.next_cursor, unseen=unread_rows
        )


def _filters(query: dict[str, Any], now: datetime) -> GangFilters:
    """Return the filters of a query. Raises ValidationError for those that contradict each other."""
    labels = query.pop("label", ())
    blocked_for = query.pop("blocked_for", None)
    if blocked_for is not None:
        if "health" in query or "since_before" in query:
            sentence = "“blocked_for” already sets health and since_before; leave those out."
            raise ValidationError({"blocked_for": [sentence]})
        query |= {"health": (Health.BLOCKED.value,), "since_before": now - blocked_for}
    return GangFilters(**query, labels=labels)
