"""The page of one gang."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gang_page import GangDetail, gang_detail
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.members import MemberBlock
from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for
from gangboard.web.deleted_gang import (
    DELETED,
    deleted_gang_updates,
    past_fragment,
    show_deleted_gang,
)
from gangboard.web.gang_actions import (
    history_fragment,
    jobs_fragment,
    owner_fragment,
    reactions_fragment,
)
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates


@require_GET
def gang(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Show a gang; one that is not there and one that may not be seen look the same."""
    viewer = viewer_for(request)
    now = timezone.now()
    detail = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
    if detail is None:
        return show_deleted_gang(request, viewer, gang_id, now)
    return render_page(
        request,
        "gang/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, detail, now),
        section="board",
        live=_live(gang_id),
        context={"row": detail.row},
    )


@require_GET
def gang_updates(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Answer the waiting request of a gang's page."""
    viewer = viewer_for(request)
    if DELETED in request.GET:
        return deleted_gang_updates(request, viewer, gang_id)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        now = timezone.now()
        detail = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
        # An open page loads itself anew when the gang's row goes.
        return () if detail is None else _page(viewer, detail, now)

    return wait_for_updates(request, viewer, _live(gang_id), read)


def _live(gang_id: str) -> str:
    return reverse("gang-updates", args=[gang_id])


def _page(viewer: Viewer, detail: GangDetail, now: datetime) -> tuple[Fragment | FragmentList, ...]:
    clusters = read_freshness(viewer=viewer, now=now)
    row = detail.row
    verdict = {
        "row": row,
        "verdict": detail.verdict,
        "steps": detail.steps,
        "cluster_sentence": detail.cluster_sentence,
    }
    shown = (row.shown, detail.verdict, detail.steps, detail.cluster_sentence)
    return (
        *layout_fragments(clusters, read_liveness(now=now)),
        Fragment("verdict", "gang/verdict.html", verdict, shown),
        _fragment("findings", detail.others),
        owner_fragment(detail),
        jobs_fragment(detail),
        reactions_fragment(detail),
        past_fragment(detail.gang_history, now),
        history_fragment(detail),
        FragmentList("members", tuple(_block(block) for block in detail.blocks)),
        Fragment(
            "members-count",
            "gang/members_count.html",
            {"row": row, "members": row.members, "any": bool(detail.members)},
            (
                row.members,
                row.bar,
                row.members_known,
                row.members_were,
                row.face,
                detail.members == (),
            ),
        ),
        _fragment("fit", detail.fit),
        _groups(detail),
        _fragment("events", detail.events),
        Fragment("facts", "gang/facts.html", {"row": row}, row.shown),
        _fragment("commands", detail.commands),
    )


def _fragment(name: str, items: tuple[object, ...]) -> Fragment:
    return Fragment(name, f"gang/{name}.html", {name: items}, items)


def _groups(detail: GangDetail) -> Fragment:
    shown = {
        "groups": detail.groups,
        "unseen": detail.groups_unseen,
        "no_groups": detail.no_groups,
    }
    return Fragment("groups", "gang/groups.html", shown, tuple(shown.values()))


def _block(block: MemberBlock) -> Fragment:
    return Fragment(f"block-{block.key}", "gang/block.html", {"block": block}, block)
