"""Addresses of the Queues pages and of their API."""

from django.urls import URLPattern, path

from gangboard.pages.queues.api import QueueListView, QueueView, WaitsView
from gangboard.pages.queues.views import OneQueuePage, QueuesPage

urlpatterns: list[URLPattern] = [
    *QueuesPage.urls("queues/", "live/queues/"),
    *OneQueuePage.urls("queues/<str:cluster>/<str:name>/", "live/queues/<str:cluster>/<str:name>/"),
    path("api/v1/queues/", QueueListView.as_view(), name="api-queues"),
    path("api/v1/queues/<str:cluster>/<str:name>/", QueueView.as_view(), name="api-queue"),
    path("api/v1/waits/", WaitsView.as_view(), name="api-waits"),
]
