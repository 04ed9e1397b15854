"""The root URLconf: the pages with their API, then the API root and the probes."""

from django.urls import include, path

urlpatterns = [
    # Before the API root, whose last address answers for everything below /api/v1/.
    path("", include("gangboard.pages.urls")),
    path("", include("gangboard.pages.core.urls")),
]
handler404 = "gangboard.pages.core.error_pages.handle_not_found"
handler500 = "gangboard.pages.core.error_pages.handle_server_error"
