"""URLs of the API root, of the OpenAPI document and of the probes."""

from django.urls import URLPattern, path

from gangboard.pages.core.api.views import NoSuchView, RootView, SchemaView
from gangboard.pages.core.probes import healthz, readyz

urlpatterns: list[URLPattern] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", RootView.as_view(), name="api-root"),
    path("api/v1/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/v1/<path:rest>/", NoSuchView.as_view()),
]
