"""The Groups page: every group as it is stored."""

from __future__ import annotations

from gangboard.pages.core.layout import Frame, not_counted_line
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments
from gangboard.pages.core.pagination import ListPage, Paginated
from gangboard.pages.core.query_state import make_select, select_cluster
from gangboard.pages.groups.queries import GroupFilters, GroupPage, group_kinds, list_groups
from gangboard.readmodels.freshness import Level


class GroupsPage(ListPage[GroupPage, GroupFilters]):
    """One page of the groups."""

    name = "groups"
    template_name = "groups/page.html"
    section = "groups"
    welcomes = True
    filters = GroupFilters

    def read_list(self, frame: Frame, cursor: str) -> GroupPage:
        """Return the groups that the filters leave."""
        return list_groups(
            viewer=frame.viewer,
            filters=self.address.filters,
            limit=self.page_size,
            cursor=cursor,
            now=frame.now,
            clusters=frame.clusters,
        )

    def fragments(self, frame: Frame, paginated: Paginated[GroupPage]) -> Fragments:
        """Return a row for each group."""
        rows, unobserved = paginated.page.rows, paginated.page.unseen
        nothing = {
            "empty": not rows,
            "filtered": bool(self.address.pairs),
            "unseen": bool(unobserved),
        }
        partly = tuple(row for row in unobserved if row.state != Level.NEVER)
        return (
            not_counted_line(frame.clusters, self.address.filters.cluster),
            Fragment("unseen", "frame/unseen_notice.html", {"unseen": partly}, partly),
            FragmentList(
                "group-rows",
                tuple(
                    Fragment(f"p-{row.uid}", "groups/row.html", {"row": row}, row) for row in rows
                ),
            ),
            Fragment("nothing", "groups/nothing.html", nothing, tuple(nothing.values())),
            paginated.pager,
        )

    def context(self, frame: Frame, paginated: Paginated[GroupPage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters."""
        filters = self.address.filters
        return {
            "filters": filters,
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select("kind", "Kind", group_kinds(), filters.kind),
            ),
        }
