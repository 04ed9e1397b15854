"""The past of a gang on its page, and the page of a deleted gang, of which only that is left."""

from __future__ import annotations

from datetime import datetime

from gangboard.readmodels.gang_history import DeletedGang, GangHistory, find_deleted_gang
from gangboard.readmodels.gang_page import gang_detail
from gangboard.readmodels.verdict_spans import make_strip
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment
from gangboard.web.live_page import Fragments, LivePage

DELETED = "gone"
"""Parameter with which an open page of a deleted gang asks for updates."""


def past_fragment(past: GangHistory, now: datetime) -> Fragment:
    """Return the strip and the wait of a gang."""
    context = {
        "strip": make_strip(past.spans, now, past.outages),
        "more": past.more,
        "wait": past.wait,
        "typical": past.typical,
    }
    return Fragment("past", "gang/past.html", context, past.shown)


class DeletedGangPage(LivePage[DeletedGang]):
    """What is left of a deleted gang; its addresses are those of gangs."""

    name = "gang"
    template_name = "gang/gone.html"
    section = "board"

    @property
    def live(self) -> str:
        """Return the address of the waiting request: that of a gang, marked."""
        return f"{super().live}?{DELETED}=1"

    def read(self, frame: Frame) -> DeletedGang | None:
        """Return its past; one that is there again has a page of its own."""
        gang_id, viewer, now = self.kwargs["gang_id"], frame.viewer, frame.now
        if gang_detail(viewer=viewer, gang_id=gang_id, now=now) is not None:
            return None
        return find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)

    def fragments(self, frame: Frame, found: DeletedGang) -> Fragments:
        """Return its last verdict and its past."""
        said = (found.face, found.code, found.message, found.since, found.gone_at, found.verdict)
        timeline = found.timeline
        return (
            Fragment("verdict", "gang/gone_verdict.html", {"gang": found}, said),
            past_fragment(found.gang_history, frame.now),
            Fragment("history", "gang/timeline.html", {"timeline": timeline}, timeline),
        )

    def context(self, frame: Frame, found: DeletedGang) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the gang."""
        return {"gang": found}
