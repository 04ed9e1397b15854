"""The welcome card, which pages show while the viewer may see no cluster."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from gangboard.pages.core.browser_sessions import NO_GROUPS
from gangboard.pages.core.layout import Frame, layout_fragments, render_page
from gangboard.pages.core.live.fragments import Fragment
from gangboard.readmodels.kubectl import KubectlCommand

COMMANDS = (
    KubectlCommand(
        "Print the roles that gangboard needs. The last lines create the kubeconfig.",
        "manage.py print_rbac > rbac.yaml",
    ),
    KubectlCommand("Create them in your cluster.", "kubectl apply -f rbac.yaml"),
    KubectlCommand(
        "Or add it with a command.",
        "manage.py add_cluster prod --kubeconfig gangboard-reader.kubeconfig",
    ),
)
DEMO = KubectlCommand("Or watch two simulated clusters.", "manage.py up")


def welcome_fragments(frame: Frame) -> tuple[Fragment, ...]:
    """Return the layout and the card. The card lists the processes, so the banners are left out."""
    is_admin, has_role = frame.viewer.is_admin, bool(frame.viewer.scopes)
    context = {
        "is_admin": is_admin,
        "has_role": has_role,
        "contact": settings.CONTACT,
        "commands": COMMANDS,
        "demo": DEMO,
        "processes": frame.liveness.processes,
    }
    quiet = replace(frame.liveness, dead=())
    card = Fragment(
        "welcome", "welcome/card.html", context, (is_admin, has_role, frame.liveness.processes)
    )
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
        context={"provider": settings.OIDC_NAME, "no_groups": request.session.get(NO_GROUPS, "")},
    )
