"""`clusters/` and `clusters/{name}/`: reads for viewers, changes for admins."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.clusters import trials
from gangboard.pages.clusters.queries import cluster_detail, list_clusters
from gangboard.pages.clusters.rows import ClusterRow
from gangboard.pages.clusters.trials import read_managed
from gangboard.pages.clusters.trials_api import admin, refusal
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import read_list_query, short_list_response
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.request_fields import StrictFlagField, StrictTextField
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.fresh_sign_in import require_fresh_session
from gangboard.pages.core.serializers import serializer_of
from gangboard.store.access import Viewer
from gangboard.store.clusters import ClusterError


class ClusterListSerializer(PageSerializer):
    """All clusters."""

    results = serializer_of(ClusterRow)(many=True)


class SaveRequestSerializer(serializers.Serializer[Any]):
    """A trial to save."""

    trial = StrictTextField(max_length=32)
    anyway = StrictFlagField(
        default=False, help_text="Save it although the cluster did not answer."
    )


class ChangeRequestSerializer(serializers.Serializer[Any]):
    """A change of a cluster."""

    read_only = StrictFlagField(  # type: ignore[assignment]  # DRF has an attribute of this name
        help_text="Whether gangboard may not change anything in the cluster."
    )


class ClusterListView(ReadView):
    """All clusters of which the caller may see something, and a new one."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_clusters",
        parameters=[PageQuery],
        responses={200: ClusterListSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List clusters by name."""
        serializer = serializer_of(ClusterRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        rows = list_clusters(viewer=self.viewer(), now=self.now())
        return short_list_response(request, paging, serializer, rows, lambda row: (row.name,))

    @extend_schema(
        operation_id="save_cluster_trial",
        request=SaveRequestSerializer,
        responses={201: serializer_of(ClusterRow), **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Save a trial: watch its cluster, or use its new credentials or actor, from now on."""
        read_query(request, Query)
        viewer = require_fresh_session(request, admin(self.viewer()))
        body = SaveRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            row = trials.save_trial(
                viewer=viewer,
                trial_id=body.validated_data["trial"],
                anyway=body.validated_data["anyway"],
            )
        except ClusterError as error:
            raise refusal(error) from error
        return _cluster(self, row.cluster, viewer, status.HTTP_201_CREATED)


class ClusterDetailView(ReadView):
    """One cluster, which an admin may change."""

    http_method_names = ["get", "head", "patch", "delete"]  # noqa: RUF012  # as in its base class

    @extend_schema(
        operation_id="get_cluster",
        responses={200: serializer_of(ClusterRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return a cluster: whether it answers, what it serves, what is forbidden."""
        read_query(request, Query)
        return _cluster(self, name, self.viewer(), status.HTTP_200_OK)

    @extend_schema(
        operation_id="change_cluster",
        request=ChangeRequestSerializer,
        responses={200: serializer_of(ClusterRow), **problems(400, 401, 403, 404, 415)},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Switch a cluster to read-only, or back."""
        read_query(request, Query)
        viewer = admin(self.viewer())
        body = ChangeRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        _check_exists(name, viewer)
        try:
            trials.set_read_only(viewer=viewer, name=name, on=body.validated_data["read_only"])
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
        _check_exists(name, viewer)
        try:
            trials.remove_cluster(viewer=viewer, name=name, typed=name)
        except ClusterError as error:
            raise NotFound(NOT_FOUND) from error
        return Response(status=status.HTTP_204_NO_CONTENT)


def _check_exists(name: str, viewer: Viewer) -> None:
    if read_managed(name, viewer=viewer) is None:
        raise NotFound(NOT_FOUND)


def _cluster(view: ReadView, name: str, viewer: Viewer, code: int) -> Response:
    """Return the response with a cluster. Raises NotFound, also for one that was removed meanwhile."""
    row = cluster_detail(name, viewer=viewer, now=view.now())
    if row is None:
        raise NotFound(NOT_FOUND)
    return Response(serializer_of(ClusterRow)(row).data, status=code)
