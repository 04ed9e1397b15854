"""The pages of the record and of each action, and the record as a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from gangboard.domain.action import ActionState, Verb
from gangboard.pages.actions.queries import (
    COLUMNS,
    EXPORTED,
    ActionFilters,
    ActionPage,
    all_actions,
    read_actions,
)
from gangboard.pages.core.actions import tabs, undo_of
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.exports import Formats, send_file
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.pagination import ListPage, Paginated
from gangboard.pages.core.query_state import (
    Option,
    Select,
    read_address,
    select_cluster,
    select_within,
)
from gangboard.pages.core.tables import json_lines_of, write_csv
from gangboard.readmodels.action_labels import lever_keys, lever_label, state_label
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import action_row
from gangboard.readmodels.freshness import Freshness


def csv_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), the heading first. No cell is a formula."""
    return write_csv(rows, EXPORTED)


def json_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield one line for each action, with the fields of the API."""
    return json_lines_of(ActionRow, rows)


FORMATS: Formats[ActionRow] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
}


class ActionsPage(ListPage[ActionPage, ActionFilters]):
    """One page of the record, the newest first."""

    name = "actions"
    template_name = "actions/page.html"
    section = "actions"
    filters = ActionFilters

    def read_list(self, frame: Frame, cursor: str) -> ActionPage:
        """Return the actions that the filters leave."""
        return read_actions(
            viewer=frame.viewer, filters=self.address.filters, cursor=cursor, limit=self.page_size
        )

    def fragments(self, frame: Frame, found: Paginated[ActionPage]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return a row for each action."""
        rows = found.page.rows
        nothing = {"empty": not rows, "filtered": bool(self.address.pairs)}
        return (
            FragmentList("action-rows", tuple(_row(row) for row in rows)),
            Fragment("nothing", "actions/nothing.html", nothing, tuple(nothing.values())),
            found.pager,
        )

    def context(self, frame: Frame, found: Paginated[ActionPage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters, the columns and the tabs."""
        filters = self.address.filters
        return {
            "filters": filters,
            "columns": COLUMNS,
            "query": urlencode(self.address.pairs),
            "tabs": tabs("actions"),
            "selects": _selects(filters, frame.clusters),
        }


class ActionDetailPage(LivePage[ActionRow]):
    """One action with every request that it made."""

    name = "action"
    template_name = "actions/action.html"
    section = "actions"

    def read(self, frame: Frame) -> ActionRow | None:
        """Return the action."""
        return action_row(viewer=frame.viewer, action_id=self.kwargs["action_id"])

    def fragments(self, frame: Frame, found: ActionRow) -> Fragments:
        """Return its outcome, the undo link if the viewer may act there, and its requests."""
        requests = (found.steps, found.is_final)
        ids = [id_ for id_, cluster in frame.clusters.items() if cluster.cluster == found.cluster]
        may_act = any(frame.viewer.may_operate(id_, found.namespace) for id_ in ids)
        undo = undo_of((found,)) if may_act else None
        outcome = {"row": found, "undo": undo}
        return (
            Fragment("outcome", "actions/outcome.html", outcome, (found, undo)),
            Fragment("requests", "actions/requests.html", {"row": found}, requests),
        )

    def context(self, frame: Frame, found: ActionRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the action as it was."""
        return {"row": found}


@require_POST
def export(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the actions that the filters leave as a file, line by line."""
    viewer = viewer_for(request)
    address = read_address("actions", ActionFilters, request.GET)
    return send_file(
        request,
        viewer,
        "actions",
        FORMATS.get(ending),
        ending,
        address.pairs,
        lambda: all_actions(viewer, address.filters),
    )


def _selects(filters: ActionFilters, clusters: Mapping[int, Freshness]) -> tuple[Select, ...]:
    return (
        select_within("When", filters.within),
        _select("verb", "Verb", {verb: verb.capitalize() for verb in Verb}, filters.verb),
        _select(
            "state", "State", {state: state_label(state) for state in ActionState}, filters.state
        ),
        _select("lever", "Lever", {key: lever_label(key) for key in lever_keys()}, filters.lever),
        select_cluster(clusters, filters.cluster),
    )


def _select(name: str, label: str, labels: Mapping[str, str], chosen: str) -> Select:
    options = tuple(Option(str(value), text, value == chosen) for value, text in labels.items())
    return Select(name, label, options)


def _row(row: ActionRow) -> Fragment:
    return Fragment(f"a-{row.id}", "actions/row.html", {"row": row, "columns": COLUMNS}, row)
