"""URLs of the account."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.account import api, views

urlpatterns = [
    path("account/", views.account, name="account"),
    path("account/tokens/", views.make_token, name="account-tokens"),
    path("account/tokens/<str:token_id>/revoke/", views.revoke_token, name="account-token-revoke"),
    path("account/sessions/end-others/", views.end_other_sessions, name="account-sessions-end"),
    path("account/sessions/<int:session_id>/end/", views.end_session, name="account-session-end"),
    path("account/names/", views.save_names, name="account-names"),
    path("account/password/", views.change_password, name="account-password"),
    path("account/views/<str:view_id>/remove/", views.remove_view, name="account-view-remove"),
    path("api/v1/me/", api.AccountView.as_view(), name="api-me"),
    path("api/v1/me/tokens/", api.TokenListView.as_view(), name="api-my-tokens"),
    path("api/v1/me/tokens/<str:token_id>/", api.TokenView.as_view(), name="api-my-token"),
    path("api/v1/me/sessions/", api.SessionListView.as_view(), name="api-my-sessions"),
    path("api/v1/me/sessions/<int:session_id>/", api.SessionView.as_view(), name="api-my-session"),
]
