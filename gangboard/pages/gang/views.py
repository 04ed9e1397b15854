"""The page of one gang, of a deleted gang, and the files of a gang."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.query_state import read_text
from gangboard.pages.gang.actions import (
    facts_fragment,
    history_fragment,
    owner_fragment,
    reactions_fragment,
    steps_context,
)
from gangboard.pages.gang.bundle import bundle_text
from gangboard.pages.gang.groups import scheduled_alike
from gangboard.pages.gang.history import DeletedGang, GangHistory, find_deleted_gang
from gangboard.pages.gang.queries import find_gangs_named, gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.pages.gang.stored_objects import stored_yaml
from gangboard.pages.gang.tree import read_opened, tree_fragments
from gangboard.readmodels.fit import fold_equal_shapes
from gangboard.readmodels.members import WELL
from gangboard.readmodels.verdict_spans import make_strip
from gangboard.store.access import Viewer

OPEN = "open"
"""The word of the address that names a Job or role of which all pods are shown."""

_RUNS_OR_RAN = frozenset({"running", "succeeded", "failed"})
"""Healths of gangs that run or will not run any more."""


class GangPage(LivePage[GangDetail]):
    """A gang; one that is not there and one that may not be seen look the same."""

    name = "gang"
    template_name = "gang/page.html"
    section = "board"

    @property
    def opened(self) -> tuple[str, ...]:
        """Return the Jobs and roles that show all their pods."""
        return read_opened(self.request.GET.getlist(OPEN))

    @property
    def live(self) -> str:
        """Return the address of the waiting request, which shows the same pods."""
        address = super().live
        return (
            f"{address}?{urlencode([(OPEN, one) for one in self.opened])}"
            if self.opened
            else address
        )

    def read(self, frame: Frame) -> GangDetail | None:
        """Return the gang. An open page loads itself anew when its row goes."""
        return gang_detail(viewer=frame.viewer, gang_id=self.kwargs["gang_id"], now=frame.now)

    def fragments(self, frame: Frame, found: GangDetail) -> Fragments:
        """Return all that is known of it."""
        return _fragments(found, frame.now, self.opened)

    def context(self, frame: Frame, found: GangDetail) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its row, and whether it may come to run."""
        return {"row": found.row, "may_run": found.row.health not in _RUNS_OR_RAN}

    def show_missing(self) -> HttpResponse:
        """Return the page of the deleted gang."""
        return self._deleted().show(viewer_for(self.request))

    def wait(self, viewer: Viewer) -> HttpResponse:
        """Answer the waiting request of the page of a gang or of a deleted gang."""
        if DELETED in self.request.GET:
            return self._deleted().wait(viewer)
        return super().wait(viewer)

    def _deleted(self) -> DeletedGangPage:
        page = DeletedGangPage()
        page.setup(self.request, **self.kwargs)
        return page


def _fragments(detail: GangDetail, now: datetime, opened: tuple[str, ...]) -> Fragments:
    row = detail.row
    return (
        _verdict(detail),
        Fragment("queue", "gang/queue.html", {"waits": detail.queue_waits}, detail.queue_waits),
        # The tree shows members that run.
        _fragment(
            "findings", tuple(finding for finding in detail.others if finding.health not in WELL)
        ),
        owner_fragment(detail),
        *tree_fragments(detail, opened),
        reactions_fragment(detail),
        past_fragment(detail.gang_history, now),
        history_fragment(detail),
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
        _fragment("fit", fold_equal_shapes(detail.fit)),
        _groups(detail),
        _fragment("events", detail.events),
        facts_fragment(detail),
        _fragment("commands", detail.commands),
    )


def _verdict(detail: GangDetail) -> Fragment:
    row = detail.row
    shown = {
        "verdict": detail.verdict,
        "steps": detail.steps,
        "cluster_sentence": detail.cluster_sentence,
        **steps_context(detail),
        "sentence": detail.named.pieces(row.message_parts[0]),
    }
    return Fragment(
        "verdict", "gang/verdict.html", {**shown, "row": row}, (row.shown, *shown.values())
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
        # How pods of a silent cluster are scheduled now is not known.
        "scheduling": ()
        if detail.row.members_were
        else scheduled_alike(
            (job.name, job.scheduling.label, job.scheduling.reason) for job in detail.jobs
        ),
    }
    return Fragment("groups", "gang/groups.html", shown, tuple(shown.values()))


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
    """The history of a deleted gang, at the address of the gang."""

    name = "gang"
    template_name = "gang/gone.html"
    section = "board"

    @property
    def live(self) -> str:
        """Return the address of the waiting request: that of a gang, marked."""
        return f"{super().live}?{DELETED}=1"

    def read(self, frame: Frame) -> DeletedGang | None:
        """Return its history, or None if the gang exists again: then it has a page of its own."""
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


@require_safe
def bundle(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the evidence of a gang as Markdown. Raises Http404 where it is not there or not to be seen."""
    now = timezone.now()
    detail = gang_detail(viewer=viewer_for(request), gang_id=gang_id, now=now)
    if detail is None:
        raise Http404
    name = f"gangboard-{gang_id}-{now:%Y%m%d-%H%M}.md"
    return HttpResponse(
        bundle_text(detail, now),
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_safe
def stored(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the stored objects of a gang as YAML. Raises Http404 as `bundle` does."""
    text = stored_yaml(viewer=viewer_for(request), gang_id=gang_id)
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


_PLACES = ("cluster", "namespace")


@require_safe
def find(request: HttpRequest) -> HttpResponseRedirect:
    """Lead to the gang that has this name, or a part of this name; to a search where it is not one gang."""
    name = read_text(request.GET, "name")
    places = {place: text for place in _PLACES if (text := read_text(request.GET, place))}
    found = find_gangs_named(name, viewer=viewer_for(request), **places) if name else ()
    if len(found) == 1:
        return HttpResponseRedirect(reverse("gang", args=found))
    query = {"q": name, **places} if name else places
    return HttpResponseRedirect(f"{reverse('board')}?{urlencode(query)}")
