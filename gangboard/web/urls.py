"""The addresses of the pages."""

from django.urls import path

from gangboard.web import (
    actions,
    audit,
    capacity,
    clusters,
    confirm_views,
    holds,
    node_page,
    node_views,
    progress_views,
    sign_in,
)
from gangboard.web.single_sign_on import views as single_sign_on

urlpatterns = [
    *capacity.CapacityPage.urls("capacity/", "live/capacity/"),
    *node_page.NodePage.urls(
        "nodes/<str:cluster>/<str:name>/", "live/nodes/<str:cluster>/<str:name>/"
    ),
    *clusters.ClustersPage.urls("clusters/", "live/clusters/"),
    *clusters.ClusterPage.urls("clusters/<str:name>/", "live/clusters/<str:name>/"),
    *actions.ActionsPage.urls("actions/", "live/actions/"),
    path("actions/confirm/", confirm_views.confirm, name="confirm"),
    *node_views.NodeJobsPage.urls("actions/node/", "live/node/"),
    *audit.AuditListPage.urls("actions/audit/", "live/audit/"),
    path("actions/export.<str:ending>", actions.export, name="actions-export"),
    path("actions/audit/export.<str:ending>", audit.export, name="audit-export"),
    *progress_views.BatchPage.urls("actions/batches/<str:batch>/", "live/batches/<str:batch>/"),
    path("actions/batches/<str:batch>/stop/", progress_views.stop, name="batch-stop"),
    path("live/asked/", progress_views.progress_updates, name="progress-updates"),
    # After the others below actions/: each of their names would be an id here.
    *actions.ActionDetailPage.urls("actions/<str:action_id>/", "live/actions/<str:action_id>/"),
    *holds.HoldsPage.urls("holds/", "live/holds/"),
    path("sign-in/", sign_in.SignInView.as_view(), name="sign-in"),
    path("sign-in/link/", sign_in.use_link, name="sign-in-link-use"),
    path("sign-in/link/<str:secret>/", sign_in.follow_link, name="sign-in-link"),
    path("sign-in/provider/", single_sign_on.begin, name="sign-in-provider"),
    path("sign-in/provider/callback/", single_sign_on.finish, name="sign-in-provider-callback"),
    path("sign-out/", sign_in.SignOutView.as_view(), name="sign-out"),
]
