"""URLs of Holds."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.holds import api, views

urlpatterns = [
    *views.HoldsPage.urls("holds/", "live/holds/"),
    path("api/v1/holds/", api.HoldListView.as_view(), name="api-holds"),
]
