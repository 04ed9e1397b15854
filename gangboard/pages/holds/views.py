"""The page of the Holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gangboard.domain.action import Verb
from gangboard.domain.api_resource import WatchState
from gangboard.domain.shell import command, line_in_cluster
from gangboard.pages.core.forms import element_key
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments
from gangboard.pages.core.pagination import Paginated
from gangboard.pages.core.query_state import Select, select_cluster
from gangboard.pages.core.record_page import RecordPage
from gangboard.pages.holds.queries import HoldFilters, read_holds
from gangboard.pages.holds.rows import COLUMNS, HoldPage, HoldRow, UnseenHoldsRow
from gangboard.readmodels.action_offers import no_right
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer


class HoldsPage(RecordPage[HoldPage, HoldFilters]):
    """One page of the Holds, and the clusters whose Holds cannot be listed."""

    name = "holds"
    template_name = "holds/page.html"
    welcomes = True
    filters = HoldFilters
    columns = COLUMNS

    def read_list(self, frame: Frame, cursor: str) -> HoldPage:
        """Return the Holds that match the filters."""
        return read_holds(
            viewer=frame.viewer,
            filters=self.address.filters,
            limit=self.page_size,
            cursor=cursor,
            now=frame.now,
        )

    def fragments(self, frame: Frame, data: Paginated[HoldPage]) -> Fragments:
        """Return a row for each Hold."""
        rows, unlisted = data.page.rows, data.page.unseen
        nothing = {
            "empty": not rows,
            "filtered": bool(self.address.pairs),
            "unseen": bool(unlisted),
        }
        return (
            Fragment("unseen", "holds/unseen.html", _unlisted_context(unlisted), unlisted),
            FragmentList(
                "hold-rows", tuple(_row(row, frame.viewer, frame.clusters) for row in rows)
            ),
            Fragment("nothing", "holds/nothing.html", nothing, tuple(nothing.values())),
            data.pager,
        )

    def selects(self, frame: Frame) -> tuple[Select, ...]:
        """Return the filter by cluster."""
        return (select_cluster(frame.clusters, self.address.filters.cluster),)


def _unlisted_context(rows: tuple[UnseenHoldsRow, ...]) -> dict[str, object]:
    """Return the clusters whose Holds cannot be listed, and separately those without the Hold resource."""
    without = tuple(row for row in rows if row.state == WatchState.NOT_SERVED)
    return {"unseen": tuple(row for row in rows if row not in without), "without": without}


def _row(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> Fragment:
    offer, key = _release_offer(row, viewer, clusters), element_key(row.uid)
    # Open pages get a new time of the last check once a minute, not with every poll.
    checked = row.checked_at and row.checked_at.replace(second=0, microsecond=0)
    return Fragment(
        f"hold-{key}",
        "holds/row.html",
        {"row": row, "offer": offer, "why_id": f"why-{key}", "columns": COLUMNS},
        (replace(row, checked_at=checked), offer),
    )


def _release_offer(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> OfferRow:
    """Return the button that resumes the held Job. It is disabled if there is no Job."""
    id_ = next((key for key, cluster in clusters.items() if cluster.cluster == row.cluster), 0)
    why_not = no_right(viewer, id_, row.namespace)
    if not why_not and id_ in clusters:
        why_not = clusters[id_].why_closed
    if not why_not and not row.job_uid:
        why_not = f"There is no Job to resume. {_delete_command(row, clusters.get(id_))}"
    return OfferRow(
        verb=Verb.RESUME.value,
        label="Release",
        meaning="Remove the Hold; the Job runs again if nothing else keeps it suspended.",
        allowed=not why_not,
        lever="",
        why_not=why_not,
        warnings=(),
        cluster=row.cluster,
        api_group="batch",
        kind="Job",
        namespace=row.namespace,
        name=row.job,
        uid=row.job_uid or row.uid,
        generation=row.job_generation or 0,
        gang_id=row.gang_id,
    )


def _delete_command(row: HoldRow, cluster: Freshness | None) -> str:
    """Return the command that deletes the Hold. Return a sentence instead if a name is unsafe in a shell."""
    arguments = command("kubectl delete hold {} -n {}", row.name, row.namespace)
    context = cluster.context if cluster is not None else ""
    return line_in_cluster(arguments, row.cluster, context) or "Delete the Hold by hand."
