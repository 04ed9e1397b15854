"""The addresses of the REST API and of the health checks."""

from django.urls import URLPattern, path

from gangboard.api.probes import healthz, readyz
from gangboard.api.schema import SchemaView
from gangboard.api.views import NoSuchView, RootView

urlpatterns: list[URLPattern] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", RootView.as_view(), name="api-root"),
    path("api/v1/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/v1/<path:rest>/", NoSuchView.as_view()),
]
