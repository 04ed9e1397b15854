"""`actions/` and `actions/{id}/`: request an action, and read its state."""

from __future__ import annotations

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, ParseError, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.actions import service
from gangboard.actions.requests import LONGEST_KEY, RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest
from gangboard.pages.actions.queries import ActionFilters, read_actions
from gangboard.pages.actions.request_serializers import ActionRequestSerializer, PlanSerializer
from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.problem_codes import ProblemCode
from gangboard.readmodels.action_rows import ACTION_STATES, LEVERS, VERBS, ActionRow
from gangboard.readmodels.actions import action_row
from gangboard.readmodels.filters import WITHIN

_ActionSerializer = serializer_of(ActionRow)
_CODES = {
    RequestErrorCode.MOVED_ON: ProblemCode.MOVED_ON,
    RequestErrorCode.BUSY: ProblemCode.BUSY,
}
LARGEST_BODY = 16_384
"""Bytes. The longest names, the longest reason and 20 nodes together have less than 14,000."""
_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Any text of yours of up to 200 characters. For 24 hours, the same key with the same body is "
    "the same action, however often it is sent. With another body it is refused (422).",
)


class ActionQuery(PageQuery):
    """The query of the list of `actions/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=253, help_text="Name of a namespace."
    )
    verb = serializers.ChoiceField(VERBS, required=False, help_text="The requested verb.")
    state = serializers.ChoiceField(
        ACTION_STATES, required=False, help_text="The state of the action now."
    )
    lever = serializers.ChoiceField(
        LEVERS, required=False, help_text="The lever that was chosen for it."
    )
    actor = serializers.CharField(
        required=False, max_length=253, help_text="The person who requested it."
    )
    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in names or texts."
    )
    within = serializers.ChoiceField(
        tuple(WITHIN),
        required=False,
        help_text="Only actions requested within this time up to now.",
    )
    open = serializers.BooleanField(default=False, help_text="Only unfinished actions.")


class ActionRequestQuery(Query):
    """The query of a request to act."""

    dry_run = serializers.BooleanField(
        default=False, help_text="Return the plan. Nothing is sent and nothing is stored."
    )


class ActionListSerializer(PageSerializer):
    """One page of actions."""

    results = _ActionSerializer(many=True)


class ActionListView(ReadView):
    """All actions on what the caller may see, and the place to ask for one."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_actions",
        parameters=[ActionQuery],
        responses={200: ActionListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List actions, the newest first."""
        query, paging = read_list_query(request, ActionQuery, _ActionSerializer)
        filters = ActionFilters(**query)
        with cursor_errors():
            page = read_actions(
                viewer=self.viewer(), filters=filters, limit=paging.limit, cursor=paging.cursor
            )
        return list_response(request, paging, _ActionSerializer, page.rows, page.next_cursor)

    @extend_schema(
        operation_id="request_action",
        parameters=[ActionRequestQuery, _KEY],
        request=ActionRequestSerializer,
        responses={
            200: OpenApiResponse(PlanSerializer, "Only with `dry_run=true`: the plan."),
            202: OpenApiResponse(
                _ActionSerializer,
                "Accepted, now or earlier with the same key. `Location` is the address of the action. A "
                "refusal by the cluster's levers is not an error: the action ends `refused`.",
            ),
            **problems(400, 401, 403, 404, 409, 413, 415, 422, 429),
        },
    )
    def post(self, request: Request) -> Response:
        """Ask to suspend, resume or relocate one object: a Job of a JobSet, or an owner as a whole."""
        query = read_query(request, ActionRequestQuery)
        action_request = _read_action_request(request)
        try:
            if query["dry_run"]:
                plan = service.preview(self.viewer(), action_request, now=self.now())
                return Response(PlanSerializer(plan).data)
            accepted = service.request(self.viewer(), action_request, now=self.now())
        except RequestError as error:
            raise _refusal(error) from error
        row = action_row(viewer=self.viewer(), action_id=accepted.action_id)
        if row is None:  # the viewer lost the right to see it in between
            raise NotFound(NOT_FOUND)
        location = request.build_absolute_uri(reverse("api-action", args=[accepted.action_id]))
        return Response(
            _ActionSerializer(row).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": location},
        )


@extend_schema(exclude=True)
class UnslashedActionListView(ActionListView):
    """The same list at its address without the last slash. A redirect would turn a POST into a GET."""


class ActionView(ReadView):
    """One action."""

    @extend_schema(
        operation_id="get_action", responses={200: _ActionSerializer, **problems(400, 401, 404)}
    )
    def get(self, request: Request, action_id: str) -> Response:
        """Return an action: its state, its steps, and what came of each."""
        read_query(request, Query)
        action = action_row(viewer=self.viewer(), action_id=action_id)
        if action is None:
            raise NotFound(NOT_FOUND)
        return Response(_ActionSerializer(action).data)


def _read_action_request(request: Request) -> ActionRequest:
    """Return the action request in the body. Raises an APIException with a sentence per wrong field."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > LARGEST_BODY:
        raise RefusedRequest(413, f"A request has at most {LARGEST_BODY} bytes.")
    try:
        data = request.data
    except RecursionError as error:
        raise ParseError("This is nested too deeply.") from error
    body = ActionRequestSerializer(data=data)
    body.is_valid(raise_exception=True)
    action_request: ActionRequest = body.save(idempotency_key=_read_key(request))
    return action_request


def _read_key(request: Request) -> str:
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise ValidationError(
            {"Idempotency-Key": [f"A key is up to {LONGEST_KEY} printable characters."]}
        )
    return key


def _refusal(error: RequestError) -> RefusedRequest:
    # Missing and invisible objects have the same answer.
    is_missing = error.code is RequestErrorCode.NOT_FOUND
    detail = NOT_FOUND if is_missing else str(error)
    action_id = "" if is_missing else error.action_id
    return RefusedRequest(
        error.code.status, detail, action_id, code=_CODES.get(error.code), wait=error.wait
    )
