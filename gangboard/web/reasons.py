"""The Reasons page: what keeps the most gangs and accelerators from running."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from gangboard.readmodels.reasons import ReasonRow, Reasons, StageReasons, read_reasons
from gangboard.web.addresses import Address, make_select, select_cluster
from gangboard.web.forms import element_key
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import FilteredPage, Fragments, Frame


@dataclass(frozen=True, slots=True)
class ReasonFilters:
    """What the page is narrowed to."""

    cluster: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """One reason with the address of its gangs on the Board."""

    row: ReasonRow
    href: str


class ReasonsPage(FilteredPage[Reasons, ReasonFilters]):
    """The reasons by stage."""

    name = "reasons"
    template_name = "reasons/page.html"
    section = "reasons"
    filters = ReasonFilters

    def read(self, frame: Frame) -> Reasons:
        """Return the reasons of the gangs that the filters leave."""
        return read_reasons(
            viewer=frame.viewer,
            cluster=self.address.filters.cluster,
            namespace=self.address.filters.namespace,
            clusters=frame.clusters,
            now=frame.now,
        )

    def fragments(self, frame: Frame, found: Reasons) -> Fragments:
        """Return the summary and the stages."""
        stages = tuple(_stage(stage, self.address) for stage in found.stages)
        any_cluster = bool(frame.clusters)
        return _summary(found, self.address, any_cluster), FragmentList("stages", stages)

    def context(self, frame: Frame, found: Reasons) -> dict[str, object]:
        """Return the filters."""
        filters = self.address.filters
        return {
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select("namespace", "Namespace", found.namespaces, filters.namespace),
            )
        }


def _board(address: Address[ReasonFilters], **more: str) -> str:
    """Return the address of the Board with the same filters and more."""
    return f"{reverse('board')}?{urlencode([*address.pairs, *more.items()])}"


def _summary(found: Reasons, address: Address[ReasonFilters], any_cluster: bool) -> Fragment:
    dearest = found.dearest and _line(found.dearest, address)
    commonest = found.commonest and _line(found.commonest, address)
    context = {
        "found": found,
        "dearest": dearest,
        "commonest": commonest,
        "only_one": dearest == commonest,
        "apart": tuple((count, _board(address, health=count.face.word)) for count in found.apart),
        "unknown_href": _board(address, health="unknown"),
        "any_cluster": any_cluster,
    }
    shown = (
        *(dearest, commonest, found.gangs, found.accelerators, found.apart, found.unknown),
        *(found.clusters, found.looked_at, found.unseen, any_cluster),
    )
    return Fragment("summary", "reasons/summary.html", context, shown)


def _stage(stage: StageReasons, address: Address[ReasonFilters]) -> Fragment:
    lines = tuple(_line(row, address) for row in stage.rows)
    context = {"stage": stage, "lines": lines}
    return Fragment(
        f"stage-{element_key(stage.stage)}", "reasons/stage.html", context, (stage, lines)
    )


def _line(row: ReasonRow, address: Address[ReasonFilters]) -> ReasonLine:
    stage = {"stage": row.stage} if row.several_stages else {}
    return ReasonLine(row, _board(address, code=row.code, **stage))
