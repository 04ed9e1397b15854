"""The welcome card: what pages show while no cluster is watched that the viewer may see."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.web.frame import Frame
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment

COMMANDS = (
    KubectlCommand(
        "Print the roles that gangboard needs. Its last lines make the kubeconfig.",
        "manage.py print_rbac > rbac.yaml",
    ),
    KubectlCommand("Create them in your cluster.", "kubectl apply -f rbac.yaml"),
    KubectlCommand(
        "Or add it by a command.",
        "manage.py add_cluster prod --kubeconfig gangboard-reader.kubeconfig",
    ),
)
DEMO = KubectlCommand("Or watch two simulated clusters.", "manage.py up")


def welcome_fragments(frame: Frame) -> tuple[Fragment, ...]:
    """Return the layout and the card. The card names each process, so no banner repeats that."""
    is_admin = frame.viewer.is_admin
    context = {
        "is_admin": is_admin,
        "commands": COMMANDS,
        "demo": DEMO,
        "processes": frame.liveness.processes,
    }
    quiet = replace(frame.liveness, dead=())
    card = Fragment("welcome", "welcome/card.html", context, (is_admin, frame.liveness.processes))
    return (*layout_fragments(frame.clusters, quiet), card)


def show_welcome(request: HttpRequest, frame: Frame, section: str, live: str) -> HttpResponse:
    """Return the page with the card."""
    return render_page(
        request,
        "welcome/page.html",
        viewer=frame.viewer,
        now=frame.now,
        page=welcome_fragments(frame),
        section=section,
        live=live,
        context={},
    )
