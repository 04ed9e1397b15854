"""The addresses of the pages."""

from django.urls import path

from gangboard.web import board, clusters, gang, groups, sign_in

urlpatterns = [
    path("", board.board, name="board"),
    path("gangs/<str:gang_id>/", gang.gang, name="gang"),
    path("groups/", groups.groups, name="groups"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/<str:name>/", clusters.cluster, name="cluster"),
    path("live/board/", board.board_news, name="board-news"),
    path("live/gangs/<str:gang_id>/", gang.gang_news, name="gang-news"),
    path("live/groups/", groups.groups_news, name="groups-news"),
    path("live/clusters/", clusters.clusters_news, name="clusters-news"),
    path("live/clusters/<str:name>/", clusters.cluster_news, name="cluster-news"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/link/<str:secret>/", sign_in.follow_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
]
