"""The page of one gang."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse

from gangboard.readmodels.gang_page import GangDetail, gang_detail
from gangboard.readmodels.members import MemberBlock
from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for
from gangboard.web.deleted_gang import DELETED, DeletedGangPage, past_fragment
from gangboard.web.gang_actions import (
    facts_fragment,
    history_fragment,
    jobs_fragment,
    owner_fragment,
    reactions_fragment,
)
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import Fragments, Frame, LivePage


class GangPage(LivePage[GangDetail]):
    """A gang; one that is not there and one that may not be seen look the same."""

    name = "gang"
    template_name = "gang/page.html"
    section = "board"

    def read(self, frame: Frame) -> GangDetail | None:
        """Return the gang. An open page loads itself anew when its row goes."""
        return gang_detail(viewer=frame.viewer, gang_id=self.kwargs["gang_id"], now=frame.now)

    def fragments(self, frame: Frame, found: GangDetail) -> Fragments:
        """Return all that is known of it."""
        return _fragments(found, frame.now)

    def context(self, frame: Frame, found: GangDetail) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its row."""
        return {"row": found.row}

    def show_missing(self) -> HttpResponse:
        """Return the page of what is left of it."""
        return self._deleted().show(viewer_for(self.request))

    def wait(self, viewer: Viewer) -> HttpResponse:
        """Answer the waiting request of the page of a gang, or of what is left of one."""
        if DELETED in self.request.GET:
            return self._deleted().wait(viewer)
        return super().wait(viewer)

    def _deleted(self) -> DeletedGangPage:
        page = DeletedGangPage()
        page.setup(self.request, **self.kwargs)
        return page


def _fragments(detail: GangDetail, now: datetime) -> Fragments:
    row = detail.row
    verdict = {
        "row": row,
        "verdict": detail.verdict,
        "steps": detail.steps,
        "cluster_sentence": detail.cluster_sentence,
    }
    shown = (row.shown, detail.verdict, detail.steps, detail.cluster_sentence)
    return (
        Fragment("verdict", "gang/verdict.html", verdict, shown),
        Fragment("queue", "gang/queue.html", {"waits": detail.queue_waits}, detail.queue_waits),
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
        facts_fragment(detail),
        _fragment("commands", detail.commands),
    )


def _fragment(name: str, items: tuple[object, ...]) -> Fragment:
    return Fragment(name, f"gang/{name}.html", {name: items}, items)


def _groups(detail: GangDetail) -> Fragment:
    shown = {
        "groups": detail.groups,
        "unseen": detail.groups_unseen,
        "no_groups": detail.no_groups,
        "mode": detail.gang_mode,
        "matrix": detail.matrix,
    }
    return Fragment("groups", "gang/groups.html", shown, tuple(shown.values()))


def _block(block: MemberBlock) -> Fragment:
    return Fragment(f"block-{block.key}", "gang/block.html", {"block": block}, block)
