"""`clusters/trials/`: an admin tries credentials before gangboard uses them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.clusters import trials
from gangboard.pages.clusters.trial_rows import ClusterTrialRow
from gangboard.pages.clusters.trials import read_trial
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import Query, read_query
from gangboard.pages.core.api.request_fields import StrictFlagField, StrictTextField
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh_session
from gangboard.pages.core.serializers import serializer_of
from gangboard.problem_codes import ProblemCode
from gangboard.store.access import Viewer
from gangboard.store.cluster_trials import LONGEST_KUBECONFIG, PURPOSES
from gangboard.store.clusters import ClusterError

NO_TOKEN = "A token cannot change clusters: sign in to do that."  # noqa: S105  # a sentence
NO_ADMIN = "Only an admin of everything may add, change or remove clusters."


class TrialRequestSerializer(serializers.Serializer[Any]):
    """Credentials to try."""

    purpose = serializers.ChoiceField(
        choices=PURPOSES,
        default="add",
        help_text="`add` a cluster, `renew` the credentials of one, or give it an `actor`.",
    )
    name = StrictTextField(max_length=63, help_text="Of the cluster in gangboard.")
    kubeconfig = StrictTextField(
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        max_length=LONGEST_KUBECONFIG,
        write_only=True,
        help_text="Its text, with all certificates and tokens inside.",
    )
    context = StrictTextField(  # type: ignore[assignment]  # DRF has an attribute of this name
        required=False,
        default="",
        allow_blank=True,
        max_length=253,
        help_text="One of its contexts; the current one if it is not given.",
    )
    in_cluster = StrictFlagField(
        default=False,
        help_text="Use the service account of the poll worker's pod instead of a kubeconfig.",
    )


class TrialListView(ReadView):
    """Trials of clusters."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="try_cluster",
        request=TrialRequestSerializer,
        responses={201: serializer_of(ClusterTrialRow), **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Try credentials: a poll worker asks the cluster. Read the trial until it is over."""
        read_query(request, Query)
        viewer = require_fresh_session(request, admin(self.viewer()))
        body = TrialRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            row = trials.begin_trial(viewer=viewer, **body.validated_data)
        except ClusterError as error:
            raise refusal(error) from error
        return Response(serializer_of(ClusterTrialRow)(row).data, status=status.HTTP_201_CREATED)


class TrialView(ReadView):
    """One trial of the caller."""

    @extend_schema(
        operation_id="get_cluster_trial",
        responses={200: serializer_of(ClusterTrialRow), **problems(400, 401, 403, 404)},
    )
    def get(self, request: Request, trial_id: str) -> Response:
        """Return a trial of the caller: what the cluster answered."""
        read_query(request, Query)
        row = read_trial(trial_id, viewer=admin(self.viewer()))
        if row is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(ClusterTrialRow)(row).data)


def admin(viewer: Viewer) -> Viewer:
    """Return the viewer, an admin of everything who has signed in. Raises PermissionDenied."""
    if viewer.token:
        raise PermissionDenied(NO_TOKEN, ProblemCode.SESSION_REQUIRED)
    if not viewer.is_admin:
        raise PermissionDenied(NO_ADMIN)
    return viewer


def refusal(error: ClusterError) -> RefusedRequest:
    """Return the 409 response for an error."""
    return RefusedRequest(409, sentence_of(error))
