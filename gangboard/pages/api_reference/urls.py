"""The addresses of the API reference."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.api_reference import views

urlpatterns = [
    path("reference/", views.reference, name="reference"),
    path("reference/<str:resource>/", views.resource_reference, name="reference-resource"),
]
