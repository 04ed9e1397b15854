"""The essentials of one gang, below its opened row of the Board."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.pages.core.auth import viewer_for
from gangboard.pages.gang.actions import steps_context
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.pages.gang.tree import PodLine, TreeLine, pod_lines, tree_lines
from gangboard.readmodels.members import WELL

MOST_LINES = 8
"""Maximum number of Jobs and roles, those with a problem first. The others are counted."""


@dataclass(frozen=True, slots=True)
class OpenedLine:
    """A Job or role, with its first unhealthy pod and the command that prints the pod's logs."""

    tree: TreeLine
    pod: PodLine | None

    @property
    def is_well(self) -> bool:
        """Whether it is healthy."""
        job, branch = self.tree.job, self.tree.branch
        face = job.state if job is not None else branch.worst if branch is not None else None
        return face is not None and face.word in WELL


@require_safe
def opened_row(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the lines below the row of a gang. Raises Http404 for a gang that the viewer may not see."""
    viewer, now = viewer_for(request), timezone.now()
    detail = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
    if detail is None:
        raise Http404
    lines, why_all, _ = tree_lines(detail)
    opened = sorted((_line(detail, line) for line in lines), key=lambda line: line.is_well)
    context = {
        "row": detail.row,
        "verdict": detail.verdict,
        **steps_context(detail),
        "lines": opened[:MOST_LINES],
        "more": len(opened[MOST_LINES:]),
        "why_all": why_all,
        "now": now,
    }
    return render(request, "gang/opened.html", context)


def _line(detail: GangDetail, line: TreeLine) -> OpenedLine:
    pods = (pod for pod in pod_lines(detail, line) if not pod.pod.is_well)
    return OpenedLine(line, next(pods, None))
