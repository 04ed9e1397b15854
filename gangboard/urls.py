"""Where requests go: pages to `web`, `/api/v1/` and health checks to `api`."""

from django.urls import include, path

urlpatterns = [
    path("", include("gangboard.api.urls")),
    path("", include("gangboard.web.urls")),
]
