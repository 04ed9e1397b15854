"""The address of the search."""

from django.urls import URLPattern, path

from gangboard.pages.search.views import search

urlpatterns: list[URLPattern] = [path("search/", search, name="search")]
