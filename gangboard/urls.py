"""Where requests go: to `web`, to the pages that are a folder each, and to `api`."""

from django.urls import include, path

urlpatterns = [
    path("", include("gangboard.web.urls")),
    # Before the API, whose last address answers for everything below /api/v1/.
    path("", include("gangboard.pages.urls")),
    path("", include("gangboard.api.urls")),
]
handler404 = "gangboard.web.error_pages.answer_missing"
handler500 = "gangboard.web.error_pages.answer_error"
