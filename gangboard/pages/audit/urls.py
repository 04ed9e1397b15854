"""The address of the audit by the API."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.audit import api

urlpatterns = [path("api/v1/audit/", api.AuditView.as_view(), name="api-audit")]
