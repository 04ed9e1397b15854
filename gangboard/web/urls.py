"""The addresses of the pages."""

from django.urls import path

from gangboard.web import (
    board,
    board_choices,
    capacity,
    clusters,
    find,
    gang,
    gang_files,
    groups,
    node_page,
    node_views,
    opened_row,
    queues,
    reasons,
    search,
    sign_in,
)
from gangboard.web.single_sign_on import views as single_sign_on

urlpatterns = [
    *board.BoardPage.urls("", "live/board/"),
    path("export.<str:ending>", board.export, name="board-export"),
    path("board/columns/", board_choices.keep_columns, name="board-columns"),
    path("board/views/", board_choices.keep_view, name="board-views"),
    path("board/views/<str:view_id>/remove/", board_choices.drop_view, name="board-view-remove"),
    path("search/", search.search, name="search"),
    path("find/", find.find, name="find"),
    *gang.GangPage.urls("gangs/<str:gang_id>/", "live/gangs/<str:gang_id>/"),
    path("gangs/<str:gang_id>/row/", opened_row.opened_row, name="gang-row"),
    path("gangs/<str:gang_id>/bundle.md", gang_files.bundle, name="gang-bundle"),
    path("gangs/<str:gang_id>/stored.yaml", gang_files.stored, name="gang-stored"),
    *reasons.ReasonsPage.urls("reasons/", "live/reasons/"),
    *capacity.CapacityPage.urls("capacity/", "live/capacity/"),
    *node_page.NodePage.urls(
        "nodes/<str:cluster>/<str:name>/", "live/nodes/<str:cluster>/<str:name>/"
    ),
    *queues.QueuesPage.urls("queues/", "live/queues/"),
    *queues.OneQueuePage.urls(
        "queues/<str:cluster>/<str:name>/", "live/queues/<str:cluster>/<str:name>/"
    ),
    *groups.GroupsPage.urls("groups/", "live/groups/"),
    *clusters.ClustersPage.urls("clusters/", "live/clusters/"),
    *clusters.ClusterPage.urls("clusters/<str:name>/", "live/clusters/<str:name>/"),
    *node_views.NodeJobsPage.urls("actions/node/", "live/node/"),
    path("sign-in/", sign_in.SignInView.as_view(), name="sign-in"),
    path("sign-in/link/", sign_in.use_link, name="sign-in-link-use"),
    path("sign-in/link/<str:secret>/", sign_in.follow_link, name="sign-in-link"),
    path("sign-in/provider/", single_sign_on.begin, name="sign-in-provider"),
    path("sign-in/provider/callback/", single_sign_on.finish, name="sign-in-provider-callback"),
    path("sign-out/", sign_in.SignOutView.as_view(), name="sign-out"),
]
