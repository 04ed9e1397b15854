"""The address of the metrics."""

from django.urls import URLPattern, path

from gangboard.pages.metrics.views import metrics

urlpatterns: list[URLPattern] = [path("metrics", metrics, name="metrics")]
