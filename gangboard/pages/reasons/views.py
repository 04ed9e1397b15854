"""The Reasons page: reasons, and their accelerators over time."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from gangboard.pages.core.forms import element_key
from gangboard.pages.core.layout import Frame, not_counted_line
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import FilteredPage, Fragments
from gangboard.pages.core.query_state import (
    Address,
    Option,
    Select,
    make_select,
    period_of,
    select_cluster,
    select_period,
)
from gangboard.pages.reasons.plan_rows import ClusterPlanRow
from gangboard.pages.reasons.queries import read_reasons
from gangboard.pages.reasons.rows import ReasonRow, Reasons, stage_number
from gangboard.readmodels.trends import Curve, Trends, current_values, read_trends, since_known

OPEN_ROWS = 8
"""Reasons that are not folded: those with the most accelerators. The others are folded by stage."""


@dataclass(frozen=True, slots=True)
class ReasonFilters:
    """Filters of the page."""

    cluster: str = ""
    namespace: str = ""
    days: str = ""
    """`14` for curves over a fortnight, else they are over a day."""
    whole: bool = False
    """Whether plans have the steps that stop complete gangs."""


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """One reason with the address of its gangs on the Board."""

    row: ReasonRow
    href: str
    curve: Curve | None = None
    """The accelerators that it holds back over time, if they are known."""
    trends: Trends | None = None
    """The curves of all reasons."""


@dataclass(frozen=True, slots=True)
class StageFold:
    """The folded reasons of one stage."""

    label: str
    lines: tuple[ReasonLine, ...]

    @property
    def gangs(self) -> int:
        """Gangs of all of them."""
        return sum(line.row.gangs for line in self.lines)

    @property
    def accelerators(self) -> float:
        """Accelerators that these gangs request."""
        return sum(line.row.accelerators for line in self.lines)


@dataclass(frozen=True, slots=True)
class ReasonsAndTrends:
    """The reasons and their curves."""

    reasons: Reasons
    trends: Trends


class ReasonsPage(FilteredPage[ReasonsAndTrends, ReasonFilters]):
    """The reasons, by the accelerators that they hold back."""

    name = "reasons"
    template_name = "reasons/page.html"
    section = "reasons"
    welcomes = True
    filters = ReasonFilters

    def read(self, frame: Frame) -> ReasonsAndTrends:
        """Return the reasons of the gangs that the filters leave, and their curves."""
        filters = self.address.filters
        reasons = read_reasons(
            viewer=frame.viewer,
            cluster=filters.cluster,
            namespace=filters.namespace,
            clusters=frame.clusters,
            now=frame.now,
            whole_gangs=filters.whole,
        )
        return ReasonsAndTrends(reasons, self._trends(frame))

    def _trends(self, frame: Frame) -> Trends:
        """Return the curves; none for one namespace, because they are stored for whole clusters."""
        filters = self.address.filters
        period = period_of(filters.days)
        if filters.namespace:
            return Trends(period, period.begin(frame.now))
        trends = read_trends(
            viewer=frame.viewer,
            clusters=frame.clusters,
            now=frame.now,
            cluster=filters.cluster,
            period=period,
            with_reasons=True,
        )
        return since_known(trends)

    def fragments(self, frame: Frame, content: ReasonsAndTrends) -> Fragments:
        """Return the summary, the chart and a row for each reason."""
        address, trends = self.address, content.trends
        lines = [
            _line(row, address, trends.reasons.get((row.stage, row.code)), trends)
            for row in content.reasons.rows
        ]
        empty = {"empty": not lines}
        legend = current_values(trends, {"waiting": content.reasons.accelerators})
        return (
            not_counted_line(frame.clusters, address.filters.cluster),
            _summary(content.reasons, address, frame.viewer.sees_everything),
            FragmentList(
                "plans", tuple(_plan(row) for row in content.reasons.plans if row.is_told)
            ),
            Fragment("trend", "reasons/trend.html", {"trends": trends}, _drawn(trends)),
            Fragment("trend-legend", "trends/legend.html", {"legend": legend}, legend),
            FragmentList("reason-rows", tuple(map(_row, lines[:OPEN_ROWS]))),
            FragmentList("reason-folds", tuple(map(_fold, _folds(lines[OPEN_ROWS:])))),
            Fragment("no-reasons", "reasons/nothing.html", empty, tuple(empty.values())),
        )

    def context(self, frame: Frame, content: ReasonsAndTrends) -> dict[str, object]:
        """Return the filters."""
        filters = self.address.filters
        namespaces = content.reasons.namespaces
        return {
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select("namespace", "Namespace", namespaces, filters.namespace),
                select_period(filters.days),
                _select_whole(chosen=filters.whole),
            ),
        }


def _select_whole(*, chosen: bool) -> Select:
    """Return the filter of the steps of plans."""
    options = (Option("1", "may stop complete gangs", chosen),)
    return Select("whole", "Plans", options, "spare complete gangs")


def _drawn(trends: Trends) -> tuple[object, ...]:
    return trends.waiting, trends.left_out, trends.period, trends.known_since


def _board(address: Address[ReasonFilters], **changes: str) -> str:
    """Return the address of the Board with the same filters and more."""
    pairs = address.without("days", "whole")
    return f"{reverse('board')}?{urlencode([*pairs, *changes.items()])}"


def _summary(reasons: Reasons, address: Address[ReasonFilters], sees_everything: bool) -> Fragment:
    dearest = reasons.dearest and _line(reasons.dearest, address)
    commonest = reasons.commonest and _line(reasons.commonest, address)
    unobserved = tuple(cluster for cluster in reasons.unseen if cluster.is_counted)
    context = {
        "found": reasons,
        "sees_everything": sees_everything,
        "unseen": unobserved,
        "dearest": dearest,
        "commonest": commonest,
        "only_one": dearest == commonest,
        "apart": tuple((count, _board(address, health=count.face.word)) for count in reasons.apart),
        "unknown_href": _board(address, health="unknown"),
    }
    content = (
        *(dearest, commonest, reasons.gangs, reasons.accelerators, reasons.apart, reasons.unknown),
        *(reasons.clusters, reasons.looked_at, unobserved, sees_everything),
    )
    return Fragment("summary", "reasons/summary.html", context, content)


def _plan(row: ClusterPlanRow) -> Fragment:
    return Fragment(f"plan-{element_key(row.cluster)}", "reasons/plan.html", {"plan": row}, (row,))


def _row(line: ReasonLine) -> Fragment:
    key = f"r-{element_key(line.row.stage)}-{element_key(line.row.code)}"
    return Fragment(key, "reasons/row.html", {"line": line}, (line.row, line.href, line.curve))


def _folds(lines: list[ReasonLine]) -> list[tuple[str, StageFold]]:
    """Return each stage with its folded reasons, in the order in which gangs pass stages."""
    by_stage: dict[str, list[ReasonLine]] = {}
    for line in lines:
        by_stage.setdefault(line.row.stage, []).append(line)
    stages = sorted(by_stage, key=lambda stage: (stage_number(stage), stage))
    return [
        (stage, StageFold(by_stage[stage][0].row.stage_label, tuple(by_stage[stage])))
        for stage in stages
    ]


def _fold(named: tuple[str, StageFold]) -> Fragment:
    stage, fold = named
    content = (fold.label, tuple((line.row, line.href, line.curve) for line in fold.lines))
    return Fragment(f"f-{element_key(stage)}", "reasons/fold.html", {"fold": fold}, content)


def _line(
    row: ReasonRow,
    address: Address[ReasonFilters],
    curve: Curve | None = None,
    trends: Trends | None = None,
) -> ReasonLine:
    stage = {"stage": row.stage} if row.several_stages else {}
    return ReasonLine(row, _board(address, code=row.code, **stage), curve, trends)
