"""URLs of clusters. In the place of a cluster's name the only fixed part is `trials`, a reserved name."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.clusters import api, manage_views, trials_api, views

urlpatterns = [
    *views.ClustersPage.urls("clusters/", "live/clusters/"),
    *views.ClusterPage.urls("clusters/<str:name>/", "live/clusters/<str:name>/"),
    path("add-cluster/", manage_views.add_cluster, name="cluster-add"),
    path("add-cluster/<str:trial_id>/", manage_views.trial, name="cluster-trial"),
    path("add-cluster/<str:trial_id>/save/", manage_views.save_trial, name="cluster-trial-save"),
    path(
        "add-cluster/<str:trial_id>/context/",
        manage_views.try_context,
        name="cluster-trial-context",
    ),
    path("clusters/<str:name>/manage/", manage_views.manage_cluster, name="cluster-manage"),
    path(
        "clusters/<str:name>/credentials/",
        manage_views.change_credentials,
        name="cluster-credentials",
    ),
    path("clusters/<str:name>/read-only/", manage_views.switch_read_only, name="cluster-read-only"),
    path("clusters/<str:name>/remove/", manage_views.remove_cluster, name="cluster-remove"),
    path("api/v1/clusters/", api.ClusterListView.as_view(), name="api-clusters"),
    path("api/v1/clusters/trials/", trials_api.TrialListView.as_view(), name="api-cluster-trials"),
    path(
        "api/v1/clusters/trials/<str:trial_id>/",
        trials_api.TrialView.as_view(),
        name="api-cluster-trial",
    ),
    path("api/v1/clusters/<str:name>/", api.ClusterDetailView.as_view(), name="api-cluster"),
]
