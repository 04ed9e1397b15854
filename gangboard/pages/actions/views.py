"""The pages of the record and of each action, and the record as a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gangboard.domain.action import ActionState, Verb
from gangboard.pages.actions.queries import (
    COLUMNS,
    EXPORTED,
    ActionFilters,
    ActionPage,
    all_actions,
    read_actions,
)
from gangboard.pages.core.actions import undo_of
from gangboard.pages.core.exports import Formats
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.pagination import Paginated
from gangboard.pages.core.query_state import Option, Select, select_cluster, select_within
from gangboard.pages.core.record_page import RecordPage, export_view
from gangboard.pages.core.tables import json_lines_of, write_csv
from gangboard.readmodels.action_labels import lever_keys, lever_label, state_label
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import action_row


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


class ActionsPage(RecordPage[ActionPage, ActionFilters]):
    """One page of the record, the newest first."""

    name = "actions"
    template_name = "actions/page.html"
    filters = ActionFilters
    columns = COLUMNS

    def read_list(self, frame: Frame, cursor: str) -> ActionPage:
        """Return the actions that match the filters."""
        return read_actions(
            viewer=frame.viewer, filters=self.address.filters, cursor=cursor, limit=self.page_size
        )

    def fragments(self, frame: Frame, data: Paginated[ActionPage]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return a row for each action."""
        rows = data.page.rows
        nothing = {"empty": not rows, "filtered": bool(self.address.pairs)}
        return (
            FragmentList("action-rows", tuple(_row(row) for row in rows)),
            Fragment("nothing", "actions/nothing.html", nothing, tuple(nothing.values())),
            data.pager,
        )

    def selects(self, frame: Frame) -> tuple[Select, ...]:
        """Return the filters by time, verb, state, lever and cluster."""
        filters = self.address.filters
        verbs = {verb.value: verb.capitalize() for verb in Verb}
        states = {state.value: state_label(state) for state in ActionState}
        levers = {key: lever_label(key) for key in lever_keys()}
        return (
            select_within("When", filters.within),
            _select("verb", "Verb", verbs, filters.verb),
            _select("state", "State", states, filters.state),
            _select("lever", "Lever", levers, filters.lever),
            select_cluster(frame.clusters, filters.cluster),
        )


class ActionDetailPage(LivePage[ActionRow]):
    """One action with every request that it made."""

    name = "action"
    template_name = "actions/action.html"
    section = "actions"

    def read(self, frame: Frame) -> ActionRow | None:
        """Return the action."""
        return action_row(viewer=frame.viewer, action_id=self.kwargs["action_id"])

    def fragments(self, frame: Frame, data: ActionRow) -> Fragments:
        """Return its outcome, the undo link if the viewer may act there, and its requests."""
        requests = (data.steps, data.is_final)
        ids = [id_ for id_, cluster in frame.clusters.items() if cluster.cluster == data.cluster]
        may_act = any(frame.viewer.may_operate(id_, data.namespace) for id_ in ids)
        undo = undo_of((data,), viewer=frame.viewer) if may_act else None
        outcome = {"row": data, "undo": undo}
        return (
            Fragment("outcome", "actions/outcome.html", outcome, (data, undo)),
            Fragment("requests", "actions/requests.html", {"row": data}, requests),
        )

    def context(self, frame: Frame, data: ActionRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the action."""
        return {"row": data}


export = export_view("actions", ActionFilters, FORMATS, all_actions)


def _select(name: str, label: str, labels: Mapping[str, str], chosen: str) -> Select:
    options = tuple(Option(str(value), text, value == chosen) for value, text in labels.items())
    return Select(name, label, options)


def _row(row: ActionRow) -> Fragment:
    return Fragment(f"a-{row.id}", "actions/row.html", {"row": row, "columns": COLUMNS}, row)
