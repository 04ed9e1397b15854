"""The addresses that add and change clusters. A name of a cluster can stand in no fixed part of them."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.add_cluster import api, views

urlpatterns = [
    path("add-cluster/", views.add_cluster, name="cluster-add"),
    path("add-cluster/<str:trial_id>/", views.trial, name="cluster-trial"),
    path("add-cluster/<str:trial_id>/save/", views.save_trial, name="cluster-trial-save"),
    path("add-cluster/<str:trial_id>/context/", views.try_context, name="cluster-trial-context"),
    path("clusters/<str:name>/manage/", views.manage_cluster, name="cluster-manage"),
    path("clusters/<str:name>/credentials/", views.change_credentials, name="cluster-credentials"),
    path("clusters/<str:name>/read-only/", views.switch_read_only, name="cluster-read-only"),
    path("clusters/<str:name>/remove/", views.remove_cluster, name="cluster-remove"),
    path("api/v1/clusters/", api.ClustersView.as_view(), name="api-clusters"),
    path("api/v1/clusters/trials/", api.TrialListView.as_view(), name="api-cluster-trials"),
    path(
        "api/v1/clusters/trials/<str:trial_id>/", api.TrialView.as_view(), name="api-cluster-trial"
    ),
    path("api/v1/clusters/<str:name>/", api.ChangedClusterView.as_view(), name="api-cluster"),
]
