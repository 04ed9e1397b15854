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
from gangboard.pages.gang.groups import group_by_scheduling
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
"""Query parameter with a Job or role whose pods are all shown."""

_RUNS_OR_RAN = frozenset({"running", "succeeded", "failed"})
"""Healths of gangs that run already or will never run."""


class GangPage(LivePage[GangDetail]):
    """One gang. Missing and invisible gangs have the same response."""

    name = "gang"
    template_name = "gang/page.html"
    section = "board"

    @property
    def opened(self) -> tuple[str, ...]:
        """The Jobs and roles that show all their pods."""
        return read_opened(self.request.GET.getlist(OPEN))

    @property
    def live(self) -> str:
        """The URL of the waiting request, which shows the same pods."""
        address = super().live
        return (
            f"{address}?{urlencode([(OPEN, name) for name in self.opened])}"
            if self.opened
            else address
        )

    def read(self, frame: Frame) -> GangDetail | None:
        """Return the gang. An open page reloads when the gang's row is deleted."""
        return gang_detail(viewer=frame.viewer, gang_id=self.kwargs["gang_id"], now=frame.now)

    def fragments(self, frame: Frame, data: GangDetail) -> Fragments:
        """Return the fragments of the gang."""
        return _fragments(data, frame.now, self.opened)

    def context(self, frame: Frame, data: GangDetail) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its row, whether it may still start to run, and whether the page links logs."""
        may_run = data.row.health not in _RUNS_OR_RAN
        return {"row": data.row, "may_run": may_run, "shows_logs": data.shows_logs}

    def show_missing(self) -> HttpResponse:
        """Return the page of the deleted gang."""
        return self._deleted_page().show(viewer_for(self.request))

    def wait(self, viewer: Viewer) -> HttpResponse:
        """Answer the waiting request of the page of a gang or of a deleted gang."""
        if DELETED in self.request.GET:
            return self._deleted_page().wait(viewer)
        return super().wait(viewer)

    def _deleted_page(self) -> DeletedGangPage:
        page = DeletedGangPage()
        page.setup(self.request, **self.kwargs)
        return page


def _fragments(detail: GangDetail, now: datetime, opened: tuple[str, ...]) -> Fragments:
    row = detail.row
    return (
        _verdict(detail),
        Fragment("queue", "gang/queue.html", {"waits": detail.queue_waits}, detail.queue_waits),
        # The tree shows healthy members.
        _fragment(
            "findings",
            tuple(finding for finding in detail.other_findings if finding.health not in WELL),
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
        Fragment(
            "commands",
            "gang/commands.html",
            {"commands": detail.commands, "gang_id": row.id},
            detail.commands,
        ),
    )


def _verdict(detail: GangDetail) -> Fragment:
    row = detail.row
    context = {
        "verdict": detail.verdict,
        "steps": detail.steps,
        "cluster_sentence": detail.cluster_sentence,
        **steps_context(detail),
        "sentence": detail.named.segments(row.message_parts[0]),
        "thrash": detail.evictions.sentence,
    }
    return Fragment(
        "verdict", "gang/verdict.html", {**context, "row": row}, (row.shown, *context.values())
    )


def _fragment(name: str, items: tuple[object, ...]) -> Fragment:
    return Fragment(name, f"gang/{name}.html", {name: items}, items)


def _groups(detail: GangDetail) -> Fragment:
    context = {
        "groups": detail.groups,
        "unseen": detail.groups_unseen,
        "no_groups": detail.no_groups,
        "mode": detail.gang_mode,
        "matrix": detail.matrix,
        # The current scheduling of pods in a silent cluster is unknown.
        "scheduling": ()
        if detail.row.members_were
        else group_by_scheduling(
            (job.name, job.scheduling.label, job.scheduling.reason) for job in detail.jobs
        ),
    }
    return Fragment("groups", "gang/groups.html", context, tuple(context.values()))


DELETED = "gone"
"""Query parameter with which an open page of a deleted gang requests updates."""


def past_fragment(history: GangHistory, now: datetime) -> Fragment:
    """Return the strip of verdicts and the wait of a gang."""
    context = {
        "strip": make_strip(history.spans, now, history.outages),
        "more": history.has_older,
        "wait": history.wait,
        "typical": history.typical,
        "evictions": history.evictions,
    }
    return Fragment("past", "gang/past.html", context, history.printed_fields)


class DeletedGangPage(LivePage[DeletedGang]):
    """The history of a deleted gang, at the URL of the gang."""

    name = "gang"
    template_name = "gang/gone.html"
    section = "board"

    @property
    def live(self) -> str:
        """The URL of the waiting request of the gang, with a parameter for deleted gangs."""
        return f"{super().live}?{DELETED}=1"

    def read(self, frame: Frame) -> DeletedGang | None:
        """Return its history, or None if the gang exists again and has its own page."""
        gang_id, viewer, now = self.kwargs["gang_id"], frame.viewer, frame.now
        if gang_detail(viewer=viewer, gang_id=gang_id, now=now) is not None:
            return None
        return find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)

    def fragments(self, frame: Frame, data: DeletedGang) -> Fragments:
        """Return its last verdict and its history."""
        verdict = (data.face, data.code, data.message, data.since, data.gone_at, data.verdict)
        timeline = data.timeline
        return (
            Fragment("verdict", "gang/gone_verdict.html", {"gang": data}, verdict),
            past_fragment(data.gang_history, frame.now),
            Fragment("history", "gang/timeline.html", {"timeline": timeline}, timeline),
        )

    def context(self, frame: Frame, data: DeletedGang) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the gang."""
        return {"gang": data}


@require_safe
def bundle(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the evidence of a gang as Markdown. Raises Http404 for missing and invisible gangs."""
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
    """Return the stored objects of a gang as YAML. Raises Http404 like `bundle`."""
    text = stored_yaml(viewer=viewer_for(request), gang_id=gang_id)
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


_LOCATION_PARAMETERS = ("cluster", "namespace")


@require_safe
def find(request: HttpRequest) -> HttpResponseRedirect:
    """Redirect to the gang with this name, or with an object of this name; if there are several, to a search."""
    name = read_text(request.GET, "name")
    location = {
        parameter: text
        for parameter in _LOCATION_PARAMETERS
        if (text := read_text(request.GET, parameter))
    }
    gang_ids = find_gangs_named(name, viewer=viewer_for(request), **location) if name else ()
    if len(gang_ids) == 1:
        return HttpResponseRedirect(reverse("gang", args=gang_ids))
    query = {"q": name, **location} if name else location
    return HttpResponseRedirect(f"{reverse('board')}?{urlencode(query)}")
