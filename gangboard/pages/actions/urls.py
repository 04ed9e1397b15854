"""URLs of the record of actions."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.actions import api, views

urlpatterns = [
    *views.ActionsPage.urls("actions/", "live/actions/"),
    path("actions/export.<str:ending>", views.export, name="actions-export"),
    *views.ActionDetailPage.urls("actions/<str:action_id>/", "live/actions/<str:action_id>/"),
    path("api/v1/actions/", api.ActionListView.as_view(), name="api-actions"),
    # Django would redirect a POST without the slash, and most clients then send a GET.
    path("api/v1/actions", api.UnslashedActionListView.as_view(), name="api-actions-unslashed"),
    path("api/v1/actions/<str:action_id>/", api.ActionView.as_view(), name="api-action"),
]
