"""The list of queues, and the page of one queue."""

from __future__ import annotations

from gangboard.pages.core.layout import Frame, not_counted_line
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.pagination import ListPage, Paginated
from gangboard.pages.core.query_state import make_select, select_cluster
from gangboard.pages.queues.queries import list_queues, queue_detail
from gangboard.pages.queues.rows import QueueDetailRow, QueuePage, QueueRow
from gangboard.readmodels.freshness import Level
from gangboard.readmodels.visible_queues import QUEUE_STATES, QueueFilters


class QueuesPage(ListPage[QueuePage, QueueFilters]):
    """One page of the queues."""

    name = "queues"
    template_name = "queues/page.html"
    section = "queues"
    welcomes = True
    filters = QueueFilters

    def read_list(self, frame: Frame, cursor: str) -> QueuePage:
        """Return the queues that the filters leave."""
        return list_queues(
            viewer=frame.viewer,
            filters=self.address.filters,
            limit=self.page_size,
            cursor=cursor,
            now=frame.now,
            clusters=frame.clusters,
        )

    def fragments(self, frame: Frame, paginated: Paginated[QueuePage]) -> Fragments:
        """Return a row for each queue."""
        page = paginated.page
        unobserved = tuple(row for row in page.unseen if row.state != Level.NEVER)
        notices = {"unseen": unobserved, "lost": page.lost}
        nothing = {
            "empty": not page.rows,
            "filtered": bool(self.address.pairs),
            "serving": page.serving,
            "unseen": bool(page.unseen),
        }
        return (
            not_counted_line(frame.clusters, self.address.filters.cluster),
            Fragment("notices", "queues/notices.html", notices, tuple(notices.values())),
            FragmentList("queue-rows", tuple(map(_row, page.rows))),
            Fragment("nothing", "queues/nothing.html", nothing, tuple(nothing.values())),
            paginated.pager,
        )

    def context(self, frame: Frame, paginated: Paginated[QueuePage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters."""
        filters = self.address.filters
        return {
            "filters": filters,
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select("state", "State", QUEUE_STATES, filters.state),
            ),
        }


def _line_content(row: QueueRow) -> tuple[object, ...]:
    """Return the content of the panel of the line."""
    return row.line, row.more, row.order, row.fair_share, row.in_line, row.kept_out, row.unknown


def _alias_content(row: QueueRow) -> tuple[object, ...]:
    """Return the content of the panel of aliases and namespaces."""
    aliases = row.aliases, row.aliases_hidden
    return *aliases, row.namespaces, row.namespaces_hidden, row.reached_by


def _row(row: QueueRow) -> Fragment:
    return Fragment(f"q-{row.uid}", "queues/row.html", {"row": row}, row)


class OneQueuePage(LivePage[QueueDetailRow]):
    """One queue. A missing and a hidden queue get the same answer."""

    name = "queue"
    template_name = "queues/queue.html"
    section = "queues"

    def read(self, frame: Frame) -> QueueDetailRow | None:
        """Return the queue with its line and its holders."""
        return queue_detail(
            viewer=frame.viewer,
            cluster=self.kwargs["cluster"],
            name=self.kwargs["name"],
            now=frame.now,
        )

    def fragments(self, frame: Frame, row: QueueDetailRow) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return its panels."""
        notices = {"unseen": row.unseen}
        return (
            Fragment("notices", "queues/notices.html", notices, row.unseen),
            Fragment("head", "queues/head.html", {"row": row}, row),
            Fragment("quotas", "queues/quota_panel.html", {"row": row}, (row.quotas, row.face)),
            Fragment("line", "queues/line.html", {"row": row}, _line_content(row)),
            Fragment(
                "holders",
                "queues/holders.html",
                {"row": row},
                (row.holders, row.holders_more, row.cluster, row.placed is None),
            ),
            Fragment("aliases", "queues/aliases.html", {"row": row}, _alias_content(row)),
        )

    def context(self, frame: Frame, row: QueueDetailRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its row."""
        return {"row": row}
