"""URLs of nodes: the page, the Jobs on a node, and the API."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.nodes import api, views

urlpatterns = [
    *views.NodePage.urls("nodes/<str:cluster>/<str:name>/", "live/nodes/<str:cluster>/<str:name>/"),
    *views.NodeJobsPage.urls("actions/node/", "live/node/"),
    path("api/v1/nodes/<str:cluster>/<str:name>/", api.NodeDetailView.as_view(), name="api-node"),
]
