"""URLs of checks."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.check import api, views

urlpatterns = [
    path("check/", views.check_form, name="check"),
    path("check/<str:check_id>/", views.check_result, name="check-result"),
    path("api/v1/checks/", api.CheckListView.as_view(), name="api-checks"),
    # Django would redirect a POST without the slash, and most clients then send a GET.
    path("api/v1/checks", api.UnslashedCheckListView.as_view(), name="api-checks-unslashed"),
    path("api/v1/checks/<str:check_id>/", api.CheckView.as_view(), name="api-check"),
]
