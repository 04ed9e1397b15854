"""The addresses of accelerator time and evictions."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.usage import api, views

urlpatterns = [
    path("usage/", views.usage, name="usage"),
    path("usage/export.<str:ending>", views.export_usage, name="usage-export"),
    path("evictions/", views.evictions, name="evictions"),
    path("evictions/export.<str:ending>", views.export_evictions, name="evictions-export"),
    path("api/v1/usage/", api.UsageView.as_view(), name="api-usage"),
    path("api/v1/evictions/", api.EvictionsView.as_view(), name="api-evictions"),
]
