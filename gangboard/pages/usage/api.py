"""`usage/` and `evictions/`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.domain.eviction import EvictionCode
from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import (
    cursor_errors,
    list_response,
    read_list_query,
    short_list_response,
)
from gangboard.pages.core.api.parameters import LONGEST_NAME, PageQuery
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.usage.eviction_queries import EvictionFilters, count_evictions, eviction_page
from gangboard.pages.usage.eviction_rows import EvictionCounts
from gangboard.pages.usage.queries import (
    FIRST_DAY,
    LAST_DAY,
    UsageQuery,
    place_of,
    read_usage,
    usual_period,
)
from gangboard.pages.usage.rows import GROUPINGS, AcceleratorUsage, UsageRow
from gangboard.readmodels.evictions import EvictionRow
from gangboard.readmodels.freshness import read_freshness


class GroupsField(serializers.CharField):
    """Keys of GROUPINGS, separated by commas."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the keys as a tuple. Raises ValidationError naming the unknown one."""
        names = tuple(name.strip() for name in super().to_internal_value(data).split(","))
        for name in names:
            if name not in GROUPINGS:
                raise ValidationError(f"“{name}” is not one of {', '.join(GROUPINGS)}.")
        return tuple(dict.fromkeys(names))


class DayField(serializers.DateField):
    """A day of the years 2000 to 2199."""

    def to_internal_value(self, value: Any) -> Any:
        """Return the day. Raises ValidationError for another year."""
        day = super().to_internal_value(value)
        if not FIRST_DAY <= day <= LAST_DAY:
            raise ValidationError("The year must be between 2000 and 2199.")
        return day


class UsageParameters(PageQuery):
    """The query of `usage/`."""

    begin = DayField(
        required=False,
        help_text="First day (UTC). By default the Monday three weeks before this week's.",
    )
    end = DayField(required=False, help_text="Last day (UTC). By default today.")
    by = GroupsField(
        required=False,
        max_length=200,
        help_text=f"What to sum by, separated by commas: {', '.join(GROUPINGS)}. By default namespace.",
    )
    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(required=False, max_length=LONGEST_NAME)


class UsageSerializer(serializer_of(AcceleratorUsage), PageSerializer):  # type: ignore[misc]  # made at run time
    """One page of accelerator-hours, with sums and gaps of the whole period."""

    results = serializer_of(UsageRow)(many=True)


class UsageView(ReadView):
    """Accelerator-hours that gangs used, held and waited for."""

    @extend_schema(
        operation_id="get_usage",
        parameters=[UsageParameters],
        responses={200: UsageSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """Sum up accelerator-hours over a period.

        A time in which a cluster was not observed is in `known` and in `unobserved`, and in no other number.
        """
        serializer = serializer_of(UsageRow)
        query, paging = read_list_query(request, UsageParameters, serializer)
        viewer, now = self.viewer(), self.now()
        by = query.get("by", ("namespace",))
        begin, end = usual_period(now)
        begin, end = query.get("begin", begin), query.get("end", end)
        if begin > end:
            raise ValidationError({"begin": ["The period ends before it begins."]})
        usage = read_usage(
            viewer=viewer,
            query=UsageQuery(begin, end, by, query.get("cluster", ""), query.get("namespace", "")),
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
        )
        return short_list_response(
            request,
            paging,
            serializer,
            usage.rows,
            place_of,
            order=",".join(by),
            **serializer_of(AcceleratorUsage)(usage, context={"now": now}).data,
        )


class EvictionQuery(PageQuery):
    """The query of `evictions/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=LONGEST_NAME, help_text="Of the gangs that lost their place."
    )
    queue = serializers.CharField(required=False, max_length=LONGEST_NAME)
    code = serializers.ChoiceField(
        tuple(code.value for code in EvictionCode), required=False, help_text="What happened."
    )


class EvictionsSerializer(PageSerializer):
    """One page of evictions, and the numbers of the last days."""

    results = serializer_of(EvictionRow)(many=True)
    counts = serializer_of(EvictionCounts)()


class EvictionsView(ReadView):
    """Preemptions, evictions and requeues of gangs."""

    @extend_schema(
        operation_id="list_evictions",
        parameters=[EvictionQuery],
        responses={200: EvictionsSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List how gangs lost their place, the newest first, also of gangs that were deleted since."""
        serializer = serializer_of(EvictionRow)
        query, paging = read_list_query(request, EvictionQuery, serializer)
        viewer, now = self.viewer(), self.now()
        filters, clusters = EvictionFilters(**query), read_freshness(viewer=viewer, now=now)
        with cursor_errors():
            page = eviction_page(
                viewer=viewer,
                filters=filters,
                clusters=clusters,
                cursor=paging.cursor,
                limit=paging.limit,
            )
        counts = count_evictions(viewer=viewer, filters=filters, clusters=clusters, now=now)
        return list_response(
            request,
            paging,
            serializer,
            page.rows,
            page.next_cursor,
            counts=serializer_of(EvictionCounts)(counts).data,
        )
