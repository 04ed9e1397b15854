"""Pages that add and change clusters. They exist only for admins of everything."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gangboard.pages.clusters import trials
from gangboard.pages.clusters.forms import AddForm, ChangeForm, CredentialsForm
from gangboard.pages.clusters.trial_rows import ClusterTrialRow
from gangboard.pages.clusters.trials import (
    ManagedCluster,
    read_managed,
    read_trial,
    runs_in_pod,
)
from gangboard.pages.core.auth import admin_of
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.layout import plain_page
from gangboard.pages.core.welcome import COMMANDS
from gangboard.store.access import Viewer
from gangboard.store.clusters import ClusterError

TRIAL = "clusters/trial.html"
LONGEST_WAIT = 15
"""Seconds after which the page says that no poll worker has taken the trial."""


@sensitive_post_parameters("kubeconfig")
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
def add_cluster(request: HttpRequest) -> HttpResponse:
    """Show the form, or begin a trial with its credentials."""
    viewer = admin_of(request)
    if redirect := require_fresh(request):
        return redirect
    if request.method != "POST":
        return _add_page(request, viewer, AddForm())
    form = AddForm(request.POST)
    if not form.is_valid():
        return _add_page(request, viewer, form, status=400)
    try:
        name = form.cleaned_data["name"]
        trial = trials.begin_trial(viewer=viewer, name=name, **form.arguments())
    except ClusterError as error:
        form.add_error(None, sentence_of(error))
        return _add_page(request, viewer, form, status=409)
    return _redirect_to_trial(trial)


@require_safe
def trial(request: HttpRequest, trial_id: str) -> HttpResponse:
    """Show the progress of a trial, or its result. htmx requests only the part that changes."""
    viewer = admin_of(request)
    row = _find_trial(trial_id, viewer)
    if request.headers.get("HX-Request") == "true":
        context = _trial_context(row)
        page_state = (request.GET.get("shown"), request.GET.get("late") == "1")
        # Screen readers read a replaced part again, so replace it only if it has changed.
        if page_state == (row.state, context["is_late"]):
            return HttpResponse(status=204)
        return render(request, TRIAL, context)
    return _trial_page(request, viewer, row)


@require_POST
def save_trial(request: HttpRequest, trial_id: str) -> HttpResponse:
    """Save the credentials of a trial."""
    viewer = admin_of(request)
    row = _find_trial(trial_id, viewer)
    anyway = request.POST.get("anyway") == "1"
    try:
        trials.save_trial(viewer=viewer, trial_id=trial_id, anyway=anyway)
    except ClusterError as error:
        return _trial_page(request, viewer, row, problem=sentence_of(error))
    return HttpResponseRedirect(reverse("cluster", args=[row.cluster]), status=303)


@require_POST
def try_context(request: HttpRequest, trial_id: str) -> HttpResponse:
    """Try the same kubeconfig with another context."""
    viewer = admin_of(request)
    row, context = _find_trial(trial_id, viewer), request.POST.get("context", "")
    try:
        if context not in row.contexts:
            raise ClusterError("choose one of the contexts")
        next_trial = trials.try_context(viewer=viewer, trial_id=trial_id, context=context)
    except ClusterError as error:
        return _trial_page(request, viewer, row, problem=sentence_of(error))
    return _redirect_to_trial(next_trial)


@require_safe
def manage_cluster(request: HttpRequest, name: str) -> HttpResponse:
    """Show the settings of a cluster."""
    viewer = admin_of(request)
    cluster = _find_cluster(name, viewer)
    if redirect := require_fresh(request):
        return redirect
    return _manage_page(request, viewer, cluster)


@sensitive_post_parameters("kubeconfig")
@sensitive_variables()
@require_POST
def change_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Begin a trial of new credentials for a cluster or its actor."""
    viewer = admin_of(request)
    cluster, form = _find_cluster(name, viewer), ChangeForm(request.POST)
    if redirect := require_fresh(request):
        return redirect
    if not form.is_valid():
        return _manage_page(request, viewer, cluster, form, status=400)
    try:
        purpose = form.cleaned_data["purpose"]
        trial = trials.begin_trial(viewer=viewer, name=name, purpose=purpose, **form.arguments())
    except ClusterError as error:
        form.add_error(None, sentence_of(error))
        return _manage_page(request, viewer, cluster, form, status=409)
    return _redirect_to_trial(trial)


@require_POST
def switch_read_only(request: HttpRequest, name: str) -> HttpResponse:
    """Switch a cluster to read-only, or back."""
    viewer = admin_of(request)
    cluster = _find_cluster(name, viewer)
    on = request.POST.get("on")
    if on not in ("0", "1"):
        return _manage_page(request, viewer, cluster, status=400)
    try:
        trials.set_read_only(viewer=viewer, name=name, on=on == "1")
    except ClusterError as error:
        raise Http404 from error  # removed meanwhile
    return HttpResponseRedirect(f"{reverse('cluster-manage', args=[name])}#read-only", status=303)


@require_POST
def remove_cluster(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a cluster after the user has typed its name."""
    viewer = admin_of(request)
    cluster, typed = _find_cluster(name, viewer), request.POST.get("name", "").strip()
    try:
        trials.remove_cluster(viewer=viewer, name=name, typed=typed)
    except ClusterError as error:
        return _manage_page(request, viewer, cluster, problem=sentence_of(error), status=400)
    return HttpResponseRedirect(reverse("clusters"), status=303)


def _find_trial(trial_id: str, viewer: Viewer) -> ClusterTrialRow:
    # PostgreSQL refuses a NUL in a comparison.
    row = None if "\x00" in trial_id else read_trial(trial_id, viewer=viewer)
    if row is None:
        raise Http404
    return row


def _find_cluster(name: str, viewer: Viewer) -> ManagedCluster:
    cluster = None if "\x00" in name else read_managed(name, viewer=viewer)
    if cluster is None:
        raise Http404
    return cluster


def _redirect_to_trial(row: ClusterTrialRow) -> HttpResponse:
    return HttpResponseRedirect(reverse("cluster-trial", args=[row.id]), status=303)


def _add_page(
    request: HttpRequest, viewer: Viewer, form: AddForm, *, status: int = 200
) -> HttpResponse:
    return plain_page(
        request,
        "clusters/add.html",
        viewer=viewer,
        section="clusters",
        context={"form": form, "in_pod": runs_in_pod(), "commands": COMMANDS[:2]},
        status=status,
    )


def _trial_context(row: ClusterTrialRow) -> dict[str, object]:
    waited = (timezone.now() - row.created_at).total_seconds()
    return {"row": row, "is_late": row.state == "waiting" and waited > LONGEST_WAIT}


def _trial_page(
    request: HttpRequest, viewer: Viewer, row: ClusterTrialRow, *, problem: str = ""
) -> HttpResponse:
    return plain_page(
        request,
        "clusters/trial_page.html",
        viewer=viewer,
        section="clusters",
        context={**_trial_context(row), "problem": problem},
        status=409 if problem else 200,
    )


def _manage_page(
    request: HttpRequest,
    viewer: Viewer,
    cluster: ManagedCluster,
    form: CredentialsForm | None = None,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    return plain_page(
        request,
        "clusters/manage.html",
        viewer=viewer,
        section="clusters",
        context={
            "cluster": cluster,
            "form": form,
            "problem": problem,
            "in_pod": runs_in_pod(),
            "print_rbac": f"manage.py print_rbac --cluster {cluster.name}",
        },
        status=status,
    )
