"""URLs of the audit."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.audit import api, views

urlpatterns = [
    *views.AuditListPage.urls("actions/audit/", "live/audit/"),
    path("actions/audit/export.<str:ending>", views.export, name="audit-export"),
    path("api/v1/audit/", api.AuditView.as_view(), name="api-audit"),
]
