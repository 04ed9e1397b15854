"""The root URL configuration: `web`, the page folders, and `api`."""

from django.urls import include, path

urlpatterns = [
    path("", include("gangboard.web.urls")),
    # Before the API, whose last pattern matches everything below /api/v1/.
    path("", include("gangboard.pages.urls")),
    path("", include("gangboard.api.urls")),
]
handler404 = "gangboard.web.error_pages.answer_missing"
handler500 = "gangboard.web.error_pages.answer_error"
