"""Planted bugs of the arithmetic, and the cases that find them: their answer is then wrong.

Without a cluster: the true answer is computed (`reckoning.most`), and the scheduler has agreed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest import mock

from gangboard.domain.capacity import PODS, PlacementRequest, Shape
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import FeasibleNodes
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.node_filters import NodeFilters
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.topology_domains import fit_in_any_domain
from gangboard.placement.topology_spread import domain_limits
from tests.agreement.advice_cases import on_paper
from tests.agreement.cases import Case
from tests.agreement.reckoning import most

_by_amounts = FeasibleNodes._by_amounts


def _all(filters: NodeFilters) -> BoolColumn:
    return filters._all()


def _none(filters: NodeFilters, *_: object) -> BoolColumn:
    return filters._none()


def _one_more(nodes: FeasibleNodes, when: When) -> IntColumn:
    return _by_amounts(nodes, when) + 1


def _one_less(nodes: FeasibleNodes, when: When) -> IntColumn:
    return _by_amounts(nodes, when) - 1


def _without_pods(shape: Shape) -> dict[str, int]:
    return {
        resource: amount
        for resource, amount in requested_amounts(shape).items()
        if resource != PODS
    }


def _wider(*arguments: Any) -> list[int]:
    return [limit + 1 for limit in domain_limits(*arguments)]


def _anywhere(snapshot: NodeSnapshot, request: PlacementRequest, *extra: Any) -> Fit:
    return fit_in_any_domain(snapshot, replace(request, topology_keys=()), *extra)


BUGS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "taints keep nobody away": {"placement.node_filters.NodeFilters.tolerated": _all},
    "labels are not asked for": {"placement.node_filters.NodeFilters.selected": _all},
    "a node takes one more": {"placement.feasible_nodes.FeasibleNodes._by_amounts": _one_more},
    "a node takes one less": {"placement.feasible_nodes.FeasibleNodes._by_amounts": _one_less},
    "any number of pods": {
        "placement.feasible_nodes.requested_amounts": _without_pods,
        "placement.node_filters.requested_amounts": _without_pods,
    },
    "a port is taken twice": {"placement.node_filters.NodeFilters._port_clashes": _none},
    "who runs keeps nobody away": {"placement.node_filters.NodeFilters.anti_affinity_taken": _none},
    "members share a node": {"placement.feasible_nodes.has_host_anti_affinity": lambda *_: False},
    "one more in each domain": {"placement.topology_spread.domain_limits": _wider},
    "more racks than one": {"placement.gang_fit.fit_in_any_domain": _anywhere},
    "initialization needs nothing": {"decode.podspec._initialization": lambda *_: ()},
}
"""Bug → name below `gangboard` → replacement."""


def found_by(cases: Sequence[Case], bug: Mapping[str, Callable[..., Any]]) -> Iterable[Case]:
    """Yield the cases that get a wrong answer with the bug. Without any none does."""
    with ExitStack() as stack:
        for name, instead in bug.items():
            stack.enter_context(mock.patch(f"gangboard.{name}", instead))
        read, groups = on_paper(cases)
        for case in cases:
            placing = read.unit(groups[case.name]).placing
            fits = most(case) >= case.quorum
            message = placing.assessment.now.answer if placing and placing.assessment else None
            if message is (FitAnswer.NO if fits else FitAnswer.YES):
                yield case
