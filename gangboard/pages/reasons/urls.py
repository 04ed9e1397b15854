"""Addresses of the Reasons page, and of the API of reasons and trends."""

from django.urls import URLPattern, path

from gangboard.pages.reasons.api import ReasonsView
from gangboard.pages.reasons.trends_api import TrendsView
from gangboard.pages.reasons.views import ReasonsPage

urlpatterns: list[URLPattern] = [
    *ReasonsPage.urls("reasons/", "live/reasons/"),
    path("api/v1/reasons/", ReasonsView.as_view(), name="api-reasons"),
    path("api/v1/trends/", TrendsView.as_view(), name="api-trends"),
]
