"""The addresses of the Board and of the list of gangs."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.board import api, preferences, views

urlpatterns = [
    *views.BoardPage.urls("", "live/board/"),
    path("export.<str:ending>", views.export, name="board-export"),
    path("board/columns/", preferences.keep_columns, name="board-columns"),
    path("board/views/", preferences.keep_view, name="board-views"),
    path("board/views/<str:view_id>/remove/", preferences.drop_view, name="board-view-remove"),
    path("api/v1/gangs/", api.GangListView.as_view(), name="api-gangs"),
]
