"""`notifications/channels/`, `notifications/rules/` and `notifications/deliveries/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.notify import channels, rules
from gangboard.notify.channels import NotifyError
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import (
    cursor_errors,
    list_response,
    read_list_query,
    short_list_response,
)
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.fresh_sign_in import require_fresh_session
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.notifications.queries import (
    channel_row,
    delivery_row,
    number_of,
    read_channel,
    read_channels,
    read_deliveries,
    read_rule,
    read_rules,
)
from gangboard.pages.notifications.request_serializers import (
    ChannelChangeSerializer,
    ChannelRequestSerializer,
    MuteRequestSerializer,
    RuleRequestSerializer,
    RuleSettingsSerializer,
)
from gangboard.pages.notifications.rows import ChannelRow, DeliveryRow, NewChannelRow, RuleRow
from gangboard.store.access import Viewer

NO_ADMIN = "Only an admin whose token may act can create, change, test and remove channels."
NO_RULES = "A read-only token cannot change rules."


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
            require_fresh_session(request, viewer)
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

    http_method_names = ["patch", "delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="change_channel",
        request=ChannelChangeSerializer,
        responses={200: serializer_of(ChannelRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def patch(self, request: Request, channel_id: str) -> Response:
        """Change a channel. The secret of a webhook stays; messages that wait go to a new address."""
        viewer, number = _admin(self.viewer()), _number(channel_id)
        if not viewer.token:
            require_fresh_session(request, viewer)
        body = ChannelChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            channel = channels.change_channel(
                viewer=viewer, channel_id=number, **body.validated_data
            )
        except NotifyError as error:
            raise RefusedRequest(409, f"{error}.") from error
        if channel is None:
            raise NotFound(NOT_FOUND)
        row = read_channel(viewer=viewer, channel_id=number)
        return Response(serializer_of(ChannelRow)(row).data)

    @extend_schema(operation_id="remove_channel", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, channel_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Remove a channel with its messages."""
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
        delivery = channels.queue_test_message(viewer=viewer, channel_id=_number(channel_id))
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

    http_method_names = ["patch", "delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="change_rule",
        request=RuleSettingsSerializer(partial=True),
        responses={200: serializer_of(RuleRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def patch(self, request: Request, rule_id: str) -> Response:
        """Change a rule. A field that is left out stays as it is. The rule repeats no message."""
        viewer, number = _changing(self.viewer()), _number(rule_id)
        body = RuleSettingsSerializer(data=request.data, partial=True)
        body.is_valid(raise_exception=True)
        try:
            known = rules.change_rule(viewer=viewer, rule_id=number, **body.validated_data)
        except NotifyError as error:
            raise RefusedRequest(409, f"{error}.") from error
        row = read_rule(viewer=viewer, rule_id=number, now=self.now())
        if not known or row is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(RuleRow)(row).data)

    @extend_schema(operation_id="remove_rule", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, rule_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Remove a rule with its messages."""
        if not rules.remove_rule(viewer=_changing(self.viewer()), rule_id=_number(rule_id)):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RuleMuteView(ReadView):
    """The mute of a rule."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="mute_rule",
        request=MuteRequestSerializer,
        responses={200: serializer_of(RuleRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def post(self, request: Request, rule_id: str) -> Response:
        """Mute a rule for some hours. No message tells the changes of that time."""
        viewer, number = _changing(self.viewer()), _number(rule_id)
        body = MuteRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            known = rules.mute_rule(viewer=viewer, rule_id=number, **body.validated_data)
        except NotifyError as error:
            raise RefusedRequest(409, f"{error}.") from error
        if not known:
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
