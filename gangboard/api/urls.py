"""The addresses of the REST API, of the health checks and of the metrics."""

from django.urls import URLPattern, path

from gangboard.api.capacity import CapacityView
from gangboard.api.groups import GroupListView, GroupView
from gangboard.api.metrics.views import metrics
from gangboard.api.nodes import NodeDetailView
from gangboard.api.probes import healthz, readyz
from gangboard.api.queues import QueueListView, QueueView
from gangboard.api.reasons import ReasonsView
from gangboard.api.schema import SchemaView
from gangboard.api.summary import SummaryView
from gangboard.api.trends import TrendsView
from gangboard.api.views import NoSuchView, RootView
from gangboard.api.waits import WaitsView

urlpatterns: list[URLPattern] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", RootView.as_view(), name="api-root"),
    path("api/v1/groups/", GroupListView.as_view(), name="api-groups"),
    path("api/v1/groups/<str:group_id>/", GroupView.as_view(), name="api-group"),
    path("api/v1/queues/", QueueListView.as_view(), name="api-queues"),
    path("api/v1/queues/<str:cluster>/<str:name>/", QueueView.as_view(), name="api-queue"),
    path("api/v1/reasons/", ReasonsView.as_view(), name="api-reasons"),
    path("api/v1/capacity/", CapacityView.as_view(), name="api-capacity"),
    path("api/v1/nodes/<str:cluster>/<str:name>/", NodeDetailView.as_view(), name="api-node"),
    path("api/v1/trends/", TrendsView.as_view(), name="api-trends"),
    path("api/v1/waits/", WaitsView.as_view(), name="api-waits"),
    path("api/v1/summary/", SummaryView.as_view(), name="api-summary"),
    path("api/v1/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/v1/<path:rest>/", NoSuchView.as_view()),
]
