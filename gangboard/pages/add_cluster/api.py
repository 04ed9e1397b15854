"""`clusters/trials/`, and the changes of `clusters/` and `clusters/{name}/`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api import clusters as read_api
from gangboard.api.errors import NOT_FOUND, RefusedRequest
from gangboard.api.fields import problems
from gangboard.api.parameters import Query, read_query
from gangboard.api.serializers.clusters import ClusterSerializer
from gangboard.api.views import ReadView
from gangboard.pages.add_cluster import changes
from gangboard.pages.add_cluster.queries import read_managed, read_trial
from gangboard.pages.add_cluster.rows import ClusterTrialRow
from gangboard.pages.core.errors import sentence_of
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.core.session_only import signed_in_lately
from gangboard.problem_codes import ProblemCode
from gangboard.readmodels.clusters import cluster_detail
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
    name = serializers.CharField(max_length=63, help_text="Of the cluster in gangboard.")
    kubeconfig = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        trim_whitespace=False,
        max_length=LONGEST_KUBECONFIG,
        write_only=True,
        help_text="Its text, with all certificates and tokens inside.",
    )
    context = serializers.CharField(  # type: ignore[assignment]  # DRF has an attribute of this name
        required=False,
        default="",
        allow_blank=True,
        max_length=253,
        help_text="One of its contexts; the current one if it is not given.",
    )
    in_cluster = serializers.BooleanField(
        default=False,
        help_text="Use the service account of the poll worker's pod instead of a kubeconfig.",
    )


class SaveRequestSerializer(serializers.Serializer[Any]):
    """A trial to save."""

    trial = serializers.CharField(max_length=32)
    anyway = serializers.BooleanField(
        default=False, help_text="Save it although the cluster did not answer."
    )


class ChangeRequestSerializer(serializers.Serializer[Any]):
    """A change of a cluster."""

    read_only = serializers.BooleanField(  # type: ignore[assignment]  # the same
        help_text="Whether nothing may be changed in the cluster."
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
        viewer = signed_in_lately(request, admin(self.viewer()))
        body = TrialRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            row = changes.begin_trial(viewer=viewer, **body.validated_data)
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


class ClustersView(read_api.ClusterListView):
    """All clusters, and a new one."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="save_cluster_trial",
        request=SaveRequestSerializer,
        responses={201: ClusterSerializer, **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Save a trial: watch its cluster, or use its new credentials or actor, from now on."""
        read_query(request, Query)
        viewer = signed_in_lately(request, admin(self.viewer()))
        body = SaveRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            row = changes.save_trial(
                viewer=viewer,
                trial_id=body.validated_data["trial"],
                anyway=body.validated_data["anyway"],
            )
        except ClusterError as error:
            raise refusal(error) from error
        return _cluster(self, row.cluster, viewer, status.HTTP_201_CREATED)


class ChangedClusterView(read_api.ClusterView):
    """One cluster, which an admin may change."""

    http_method_names = ["get", "head", "patch", "delete"]  # noqa: RUF012  # as in its base class

    @extend_schema(
        operation_id="change_cluster",
        request=ChangeRequestSerializer,
        responses={200: ClusterSerializer, **problems(400, 401, 403, 404, 415)},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Switch a cluster to read-only, or back."""
        read_query(request, Query)
        viewer = admin(self.viewer())
        body = ChangeRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        _found(name, viewer)
        try:
            changes.set_read_only(viewer=viewer, name=name, on=body.validated_data["read_only"])
        except ClusterError as error:
            raise NotFound(NOT_FOUND) from error
        return _cluster(self, name, viewer, status.HTTP_200_OK)

    @extend_schema(
        operation_id="remove_cluster", responses={204: None, **problems(400, 401, 403, 404)}
    )
    def delete(self, request: Request, name: str) -> Response:
        """Stop watching a cluster and delete what is known about it. The cluster is not touched."""
        read_query(request, Query)
        viewer = admin(self.viewer())
        _found(name, viewer)
        try:
            changes.remove_cluster(viewer=viewer, name=name, typed=name)
        except ClusterError as error:
            raise NotFound(NOT_FOUND) from error
        return Response(status=status.HTTP_204_NO_CONTENT)


def admin(viewer: Viewer) -> Viewer:
    """Return the viewer, an admin of everything who has signed in. Raises PermissionDenied."""
    if viewer.token:
        raise PermissionDenied(NO_TOKEN, ProblemCode.SESSION_REQUIRED)
    if not viewer.is_admin:
        raise PermissionDenied(NO_ADMIN)
    return viewer


def refusal(error: ClusterError) -> RefusedRequest:
    """Return the 409 of what cannot be done."""
    return RefusedRequest(409, sentence_of(error))


def _found(name: str, viewer: Viewer) -> None:
    if read_managed(name, viewer=viewer) is None:
        raise NotFound(NOT_FOUND)


def _cluster(view: ReadView, name: str, viewer: Viewer, code: int) -> Response:
    found = cluster_detail(name, viewer=viewer, now=view.now())
    if found is None:  # removed meanwhile
        raise NotFound(NOT_FOUND)
    return Response(ClusterSerializer(found).data, status=code)
