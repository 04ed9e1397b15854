"""`notifications/channels/`, `notifications/rules/` and `notifications/deliveries/`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.errors import NOT_FOUND, RefusedRequest
from gangboard.api.fields import problems
from gangboard.api.paging import (
    cursor_errors,
    list_response,
    read_list_query,
    short_list_response,
)
from gangboard.api.parameters import HEALTHS, PageQuery, Query, read_query
from gangboard.api.views import ReadView
from gangboard.notify import channels, rules
from gangboard.notify.errors import NotifyError
from gangboard.notify.triggers import CHOICES
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.core.session_only import signed_in_lately
from gangboard.pages.notifications.queries import (
    channel_row,
    delivery_row,
    number_of,
    read_channels,
    read_deliveries,
    read_rule,
    read_rules,
)
from gangboard.pages.notifications.rows import ChannelRow, DeliveryRow, NewChannelRow, RuleRow
from gangboard.store.access import Viewer

NO_ADMIN = "Only an admin whose token may act makes, tests and removes channels."
NO_RULES = "A read-only token cannot change rules."


class ChannelRequestSerializer(serializers.Serializer[Any]):
    """A channel to make."""

    name = serializers.CharField(max_length=60)
    kind = serializers.ChoiceField(channels.KINDS)
    address = serializers.CharField(
        max_length=channels.LONGEST_ADDRESS,
        write_only=True,
        help_text="Of apprise, or of a webhook. It is stored encrypted and never sent back.",
    )
    owner = serializers.CharField(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="The one person whose rules may use it.",
    )
    for_everybody = serializers.BooleanField(
        default=False, help_text="Whether everybody's rules may use it."
    )


class RuleRequestSerializer(serializers.Serializer[Any]):
    """A rule to make. A condition that is left out is met by everything."""

    name = serializers.CharField(max_length=60)
    trigger = serializers.ChoiceField([one.value for one in CHOICES])
    channels = serializers.ListField(
        child=serializers.CharField(max_length=60), min_length=1, max_length=20
    )
    for_admins = serializers.BooleanField(default=False, help_text="A rule of all admins.")
    minutes = serializers.IntegerField(
        min_value=1, max_value=rules.MOST_MINUTES, required=False, allow_null=True
    )
    cluster = serializers.CharField(max_length=63, required=False, allow_blank=True)
    namespace = serializers.CharField(
        max_length=253, required=False, allow_blank=True, help_text="A pattern such as `team-*`."
    )
    kind = serializers.CharField(max_length=63, required=False, allow_blank=True)
    code = serializers.CharField(max_length=64, required=False, allow_blank=True)
    health = serializers.ChoiceField(HEALTHS, required=False, allow_blank=True)
    accelerators_at_least = serializers.FloatField(
        min_value=0, max_value=1e9, required=False, allow_null=True
    )


class MuteRequestSerializer(serializers.Serializer[Any]):
    """For how long a rule is muted."""

    hours = serializers.IntegerField(
        min_value=0, max_value=rules.MOST_HOURS, help_text="0 ends the mute."
    )


class ChannelListView(ReadView):
    """Channels."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_channels",
        parameters=[PageQuery],
        responses={200: list_serializer_of(ChannelRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the channels that the caller's rules may use, by name."""
        serializer = serializer_of(ChannelRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        rows = read_channels(viewer=self.viewer())
        return short_list_response(
            request, paging, serializer, rows, lambda row: (row.name, int(row.id))
        )

    @extend_schema(
        operation_id="make_channel",
        request=ChannelRequestSerializer,
        responses={201: serializer_of(NewChannelRow), **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Make a channel. The secret of a webhook is in this answer and nowhere else."""
        read_query(request, Query)
        viewer = _admin(self.viewer())
        if not viewer.token:
            signed_in_lately(request, viewer)
        body = ChannelRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            channel, secret = channels.make_channel(viewer=viewer, **body.validated_data)
        except NotifyError as error:
            raise RefusedRequest(409, f"{error}.") from error
        row = channel_row(channel, viewer)
        fields = {name: getattr(row, name) for name in ChannelRow.__dataclass_fields__}
        new = NewChannelRow(**fields, secret=secret)
        return Response(serializer_of(NewChannelRow)(new).data, status=status.HTTP_201_CREATED)


class ChannelView(ReadView):
    """One channel."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="remove_channel", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, channel_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Remove a channel with what waits for it."""
        viewer = _admin(self.viewer())
        if not channels.remove_channel(viewer=viewer, channel_id=_number(channel_id)):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChannelTestView(ReadView):
    """A test of a channel."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="test_channel",
        request=None,
        responses={202: serializer_of(DeliveryRow), **problems(401, 403, 404)},
    )
    def post(self, request: Request, channel_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Order a test message. `deliveries/` tells what became of it."""
        viewer = _admin(self.viewer())
        delivery = channels.order_test(viewer=viewer, channel_id=_number(channel_id))
        if delivery is None:
            raise NotFound(NOT_FOUND)
        row = delivery_row(delivery, viewer)
        return Response(serializer_of(DeliveryRow)(row).data, status=status.HTTP_202_ACCEPTED)


class RuleListView(ReadView):
    """Rules."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_rules",
        parameters=[PageQuery],
        responses={200: list_serializer_of(RuleRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the caller's rules, for an admin all rules, the newest first."""
        serializer = serializer_of(RuleRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        rows = read_rules(viewer=self.viewer(), now=self.now())
        return short_list_response(request, paging, serializer, rows, lambda row: (-int(row.id),))

    @extend_schema(
        operation_id="make_rule",
        request=RuleRequestSerializer,
        responses={201: serializer_of(RuleRow), **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Make a rule of the caller, or of all admins."""
        read_query(request, Query)
        viewer = _changing(self.viewer())
        body = RuleRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            rule = rules.make_rule(viewer=viewer, **body.validated_data)
        except NotifyError as error:
            raise RefusedRequest(409, f"{error}.") from error
        row = read_rule(viewer=viewer, rule_id=rule.pk, now=self.now())
        return Response(serializer_of(RuleRow)(row).data, status=status.HTTP_201_CREATED)


class RuleView(ReadView):
    """One rule."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="remove_rule", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, rule_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Remove a rule with what waits to be sent."""
        if not rules.remove_rule(viewer=_changing(self.viewer()), rule_id=_number(rule_id)):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RuleMuteView(ReadView):
    """The mute of a rule."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="mute_rule",
        request=MuteRequestSerializer,
        responses={200: serializer_of(RuleRow), **problems(400, 401, 403, 404, 415)},
    )
    def post(self, request: Request, rule_id: str) -> Response:
        """Mute a rule for some hours. What happens meanwhile is never told."""
        viewer, number = _changing(self.viewer()), _number(rule_id)
        body = MuteRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        if not rules.mute_rule(viewer=viewer, rule_id=number, **body.validated_data):
            raise NotFound(NOT_FOUND)
        row = read_rule(viewer=viewer, rule_id=number, now=self.now())
        return Response(serializer_of(RuleRow)(row).data)


class DeliveryListView(ReadView):
    """Messages and what became of them."""

    @extend_schema(
        operation_id="list_deliveries",
        parameters=[PageQuery],
        responses={200: list_serializer_of(DeliveryRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the messages of the caller's rules, for an admin all, the newest first."""
        serializer = serializer_of(DeliveryRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        with cursor_errors():
            rows, following = read_deliveries(
                viewer=self.viewer(), cursor=paging.cursor, limit=paging.limit
            )
        return list_response(request, paging, serializer, rows, following)


def _admin(viewer: Viewer) -> Viewer:
    """Return the viewer. Raises PermissionDenied for who is no admin of everything."""
    if not (viewer.is_admin and viewer.may_act):
        raise PermissionDenied(NO_ADMIN)
    return viewer


def _changing(viewer: Viewer) -> Viewer:
    """Return the viewer. Raises PermissionDenied for a token that only reads."""
    if not viewer.may_act:
        raise PermissionDenied(NO_RULES)
    return viewer


def _number(text: str) -> int:
    number = number_of(text)
    if number is None:
        raise NotFound(NOT_FOUND)
    return number
