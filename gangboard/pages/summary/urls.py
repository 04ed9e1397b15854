"""The address of the summary."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.summary import api

urlpatterns = [path("api/v1/summary/", api.SummaryView.as_view(), name="api-summary")]
