"""The addresses of the REST API and of the health checks."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
