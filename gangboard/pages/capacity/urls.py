"""The addresses of Capacity."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.capacity import api, views

urlpatterns = [
    *views.CapacityPage.urls("capacity/", "live/capacity/"),
    path("api/v1/capacity/", api.CapacityView.as_view(), name="api-capacity"),
]
