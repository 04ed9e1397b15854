"""Where requests go: pages to `web`; `/api/v1/`, health checks and metrics to `api`."""

from django.urls import include, path

urlpatterns = [
    path("", include("gangboard.api.urls")),
    path("", include("gangboard.web.urls")),
]
handler404 = "gangboard.web.missing_page.answer_missing"
handler500 = "gangboard.web.server_errors.answer_error"
