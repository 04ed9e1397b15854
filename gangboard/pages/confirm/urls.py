"""URLs of the confirmation and of the progress of actions."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.confirm import progress, views

urlpatterns = [
    path("actions/confirm/", views.confirm, name="confirm"),
    *progress.BatchPage.urls("actions/batches/<str:batch>/", "live/batches/<str:batch>/"),
    path("actions/batches/<str:batch>/stop/", progress.stop, name="batch-stop"),
    path("live/asked/", progress.progress_updates, name="progress-updates"),
]
