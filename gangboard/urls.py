"""Where requests go: first to the pages that are a folder each, then to `api` and `web`."""

from django.urls import include, path

urlpatterns = [
    # Before the API, whose last address answers for everything below /api/v1/.
    path("", include("gangboard.pages.urls")),
    path("", include("gangboard.api.urls")),
    path("", include("gangboard.web.urls")),
]
handler404 = "gangboard.web.missing_page.answer_missing"
handler500 = "gangboard.web.server_errors.answer_error"
