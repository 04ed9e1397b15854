"""The addresses of the pages."""

from django.urls import path

from gangboard.web import (
    actions,
    asked,
    audit,
    board,
    clusters,
    confirm,
    gang,
    groups,
    holds,
    node,
    sign_in,
)

urlpatterns = [
    path("", board.board, name="board"),
    path("gangs/<str:gang_id>/", gang.gang, name="gang"),
    path("groups/", groups.groups, name="groups"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/<str:name>/", clusters.cluster, name="cluster"),
    path("actions/", actions.actions, name="actions"),
    path("actions/confirm/", confirm.confirm, name="confirm"),
    path("actions/node/", node.node, name="node"),
    path("actions/audit/", audit.audit, name="audit"),
    path("actions/export.<str:ending>", actions.export, name="actions-export"),
    path("actions/batches/<str:batch>/", asked.batch, name="batch"),
    path("actions/batches/<str:batch>/stop/", asked.stop, name="batch-stop"),
    path("actions/<str:action_id>/", actions.action, name="action"),
    path("holds/", holds.holds, name="holds"),
    path("live/actions/", actions.actions_news, name="actions-news"),
    path("live/actions/<str:action_id>/", actions.action_news, name="action-news"),
    path("live/asked/", asked.asked_news, name="asked-news"),
    path("live/audit/", audit.audit_news, name="audit-news"),
    path("live/batches/<str:batch>/", asked.batch_news, name="batch-news"),
    path("live/holds/", holds.holds_news, name="holds-news"),
    path("live/node/", node.node_news, name="node-news"),
    path("live/board/", board.board_news, name="board-news"),
    path("live/gangs/<str:gang_id>/", gang.gang_news, name="gang-news"),
    path("live/groups/", groups.groups_news, name="groups-news"),
    path("live/clusters/", clusters.clusters_news, name="clusters-news"),
    path("live/clusters/<str:name>/", clusters.cluster_news, name="cluster-news"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/link/<str:secret>/", sign_in.follow_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
]
