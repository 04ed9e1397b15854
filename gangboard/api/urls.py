"""The addresses of the REST API and of the health checks."""

from django.urls import URLPattern, path

from gangboard.api.capacity import CapacityView
from gangboard.api.nodes import NodeDetailView
from gangboard.api.probes import healthz, readyz
from gangboard.api.schema import SchemaView
from gangboard.api.summary import SummaryView
from gangboard.api.views import NoSuchView, RootView

urlpatterns: list[URLPattern] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", RootView.as_view(), name="api-root"),
    path("api/v1/capacity/", CapacityView.as_view(), name="api-capacity"),
    path("api/v1/nodes/<str:cluster>/<str:name>/", NodeDetailView.as_view(), name="api-node"),
    path("api/v1/summary/", SummaryView.as_view(), name="api-summary"),
    path("api/v1/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/v1/<path:rest>/", NoSuchView.as_view()),
]
