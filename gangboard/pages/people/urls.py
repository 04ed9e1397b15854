"""URLs of people, groups, tokens and sessions."""

from __future__ import annotations

from django.urls import path

from gangboard.pages.people import (
    api,
    group_roles_api,
    person_views,
    sign_in_views,
    sign_ins_api,
    views,
)

urlpatterns = [
    path("people/", views.people, name="people"),
    path("people/groups/", views.groups, name="people-groups"),
    path("people/groups/<int:role_id>/take/", views.take_group_role, name="people-group-take"),
    path("people/tokens/", sign_in_views.tokens, name="people-tokens"),
    path(
        "people/tokens/<str:token_id>/revoke/",
        sign_in_views.revoke_token,
        name="people-token-revoke",
    ),
    path("people/sessions/", sign_in_views.sessions, name="people-sessions"),
    path(
        "people/sessions/<int:session_id>/end/",
        sign_in_views.end_session,
        name="people-session-end",
    ),
    path("people/users/<str:name>/", person_views.person, name="person"),
    path("people/users/<str:name>/roles/", person_views.give_role, name="person-roles"),
    path("people/users/<str:name>/roles/take/", person_views.take_role, name="person-role-take"),
    path("people/users/<str:name>/link/", person_views.make_link, name="person-link"),
    path("people/users/<str:name>/disable/", person_views.disable, name="person-disable"),
    path("people/users/<str:name>/open/", person_views.reopen, name="person-open"),
    path("api/v1/people/", api.PeopleView.as_view(), name="api-people"),
    path("api/v1/people/<str:name>/", api.PersonView.as_view(), name="api-person"),
    path("api/v1/people/<str:name>/roles/", api.RolesView.as_view(), name="api-person-roles"),
    path("api/v1/people/<str:name>/links/", api.LinksView.as_view(), name="api-person-links"),
    path("api/v1/tokens/", sign_ins_api.TokensView.as_view(), name="api-tokens"),
    path("api/v1/tokens/<str:token_id>/", sign_ins_api.TokenView.as_view(), name="api-token"),
    path("api/v1/sessions/", sign_ins_api.SessionsView.as_view(), name="api-sessions"),
    path(
        "api/v1/sessions/<int:session_id>/", sign_ins_api.SessionView.as_view(), name="api-session"
    ),
    path("api/v1/group-roles/", group_roles_api.GroupRolesView.as_view(), name="api-group-roles"),
    path(
        "api/v1/group-roles/<int:role_id>/",
        group_roles_api.GroupRoleView.as_view(),
        name="api-group-role",
    ),
]
