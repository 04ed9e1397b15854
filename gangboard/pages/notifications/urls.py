"""The addresses of messages."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.notifications import api, views

_PAGE = "notifications/"
_API = "api/v1/notifications/"

urlpatterns = [
    path(_PAGE, views.notifications, name="notifications"),
    path(f"{_PAGE}channels/", views.make_channel, name="notification-channels"),
    path(f"{_PAGE}channels/<str:channel_id>/", views.change_channel, name="notification-channel"),
    path(
        f"{_PAGE}channels/<str:channel_id>/test/",
        views.test_channel,
        name="notification-channel-test",
    ),
    path(
        f"{_PAGE}channels/<str:channel_id>/remove/",
        views.remove_channel,
        name="notification-channel-remove",
    ),
    path(f"{_PAGE}rules/", views.make_rule, name="notification-rules"),
    path(f"{_PAGE}rules/<str:rule_id>/", views.change_rule, name="notification-rule"),
    path(f"{_PAGE}rules/<str:rule_id>/remove/", views.remove_rule, name="notification-rule-remove"),
    path(f"{_PAGE}rules/<str:rule_id>/mute/", views.mute_rule, name="notification-rule-mute"),
    path(f"{_PAGE}gangs/<str:gang_id>/", views.tell_of_gang, name="notification-gang"),
    path(f"{_API}channels/", api.ChannelListView.as_view(), name="api-channels"),
    path(f"{_API}channels/<str:channel_id>/", api.ChannelView.as_view(), name="api-channel"),
    path(
        f"{_API}channels/<str:channel_id>/test/",
        api.ChannelTestView.as_view(),
        name="api-channel-test",
    ),
    path(f"{_API}rules/", api.RuleListView.as_view(), name="api-rules"),
    path(f"{_API}rules/<str:rule_id>/", api.RuleView.as_view(), name="api-rule"),
    path(f"{_API}rules/<str:rule_id>/mute/", api.RuleMuteView.as_view(), name="api-rule-mute"),
    path(f"{_API}deliveries/", api.DeliveryListView.as_view(), name="api-deliveries"),
]
