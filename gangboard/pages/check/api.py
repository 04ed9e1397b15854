"""`checks/`: forecasts for manifests before they are created."""

from __future__ import annotations

import time
from typing import Any

from django.db import connection
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.decode.manifests import MAX_BYTES, ManifestError
from gangboard.pages.check.queries import NoClusterError, begin, read_check
from gangboard.pages.check.rows import CheckResult
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import LONGEST_NAME, Query, read_query
from gangboard.pages.core.api.request_fields import StrictTextField
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.store.access import Viewer
from gangboard.store.checks import CheckError, is_answered

WAIT_SECONDS = 20.0
"""Seconds for which a call waits for the answers of poll workers."""
FIRST_LOOK, LAST_LOOK = 0.1, 0.5
"""Seconds between two looks at the answers, which grow from the first to the last."""
MOST_CLUSTERS = 200


class CheckRequestSerializer(serializers.Serializer[Any]):
    """Manifests to check."""

    manifests = StrictTextField(
        max_length=MAX_BYTES,
        trim_whitespace=False,
        help_text="YAML or JSON with one or more objects, such as the output of Helm or Kustomize.",
    )
    clusters = serializers.ListField(
        child=StrictTextField(max_length=63),
        required=False,
        default=list,
        max_length=MOST_CLUSTERS,
        help_text="Names of clusters. The default is all clusters that the caller sees.",
    )
    namespace = StrictTextField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LONGEST_NAME,
        help_text="Namespace of objects that name none, as with `kubectl --namespace`.",
    )


class CheckListView(ReadView):
    """Checks of manifests."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="check_manifests",
        request=CheckRequestSerializer,
        responses={200: serializer_of(CheckResult), **problems(400, 401, 404, 413, 415, 429)},
    )
    def post(self, request: Request) -> Response:
        """Predict for each gang and cluster whether it would run now, and why not.

        The call sends no request to a cluster. It waits up to 20 s for the poll workers.
        """
        read_query(request, Query)
        body = CheckRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        viewer = self.viewer()
        try:
            check_id = begin(
                viewer=viewer,
                text=values["manifests"],
                clusters=values["clusters"],
                namespace=values["namespace"],
            )
        except ManifestError as error:
            raise ValidationError({"manifests": [str(error)]}) from error
        except NoClusterError as error:
            raise NotFound(NOT_FOUND) from error
        except CheckError as error:
            raise RefusedRequest(429, str(error), wait=60) from error
        return self._response(_answered(check_id, viewer, self))

    def _response(self, result: CheckResult) -> Response:
        return Response(serializer_of(CheckResult)(result, context={"now": self.now()}).data)


@extend_schema(exclude=True)
class UnslashedCheckListView(CheckListView):
    """The same at its address without the last slash. A redirect would turn a POST into a GET."""


class CheckView(ReadView):
    """One check of the caller."""

    @extend_schema(
        operation_id="get_check",
        responses={200: serializer_of(CheckResult), **problems(400, 401, 404)},
    )
    def get(self, request: Request, check_id: str) -> Response:
        """Return a check of the caller. It is deleted after 10 minutes."""
        read_query(request, Query)
        result = read_check(check_id, viewer=self.viewer(), now=self.now())
        if result is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(CheckResult)(result, context={"now": self.now()}).data)


def _answered(check_id: str, viewer: Viewer, view: ReadView) -> CheckResult:
    """Return the check once all clusters have answered, or after WAIT_SECONDS as it is. Raises NotFound."""
    give_up_at, pause = time.monotonic() + WAIT_SECONDS, FIRST_LOOK
    while not is_answered(check_id) and time.monotonic() < give_up_at:
        connection.close()  # a sleeping call keeps no connection
        time.sleep(pause)
        pause = min(LAST_LOOK, pause * 1.5)
    result = read_check(check_id, viewer=viewer, now=view.now())
    if result is None:  # the viewer lost the right to see the clusters in between
        raise NotFound(NOT_FOUND)
    return result
