"""Addresses of the Groups page and of its API."""

from django.urls import URLPattern, path

from gangboard.pages.groups.api import GroupListView, GroupView
from gangboard.pages.groups.views import GroupsPage

urlpatterns: list[URLPattern] = [
    *GroupsPage.urls("groups/", "live/groups/"),
    path("api/v1/groups/", GroupListView.as_view(), name="api-groups"),
    path("api/v1/groups/<str:group_id>/", GroupView.as_view(), name="api-group"),
]
