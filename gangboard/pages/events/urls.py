"""The addresses of the feed."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.events import api

urlpatterns = [
    path("api/v1/events/", api.EventListView.as_view(), name="api-events"),
]
