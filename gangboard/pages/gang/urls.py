"""URLs of one gang."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.gang import api, board_row, logs_api, logs_views, views

urlpatterns = [
    path("find/", views.find, name="find"),
    *views.GangPage.urls("gangs/<str:gang_id>/", "live/gangs/<str:gang_id>/"),
    path("gangs/<str:gang_id>/row/", board_row.opened_row, name="gang-row"),
    path("gangs/<str:gang_id>/bundle.md", views.bundle, name="gang-bundle"),
    path("gangs/<str:gang_id>/logs/", logs_views.logs, name="gang-logs"),
    path("gangs/<str:gang_id>/stored.yaml", views.stored, name="gang-stored"),
    path("api/v1/gangs/<str:gang_id>/", api.GangView.as_view(), name="api-gang"),
    path("api/v1/gangs/<str:gang_id>/logs/", logs_api.GangLogView.as_view(), name="api-gang-logs"),
    path(
        "api/v1/gangs/<str:gang_id>/bundle/", api.GangBundleView.as_view(), name="api-gang-bundle"
    ),
]
