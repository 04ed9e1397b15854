"""Topology spread constraints of a pod."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.decode.selectors import WireLabelSelector, read_counted_pods
from gangboard.decode.wire import Int32, Wire
from gangboard.domain.pod_constraints import Spread

_HONOR, _IGNORE = "Honor", "Ignore"


class WireSpread(Wire):
    """One entry of `topologySpreadConstraints`."""

    when_unsatisfiable: str = ""
    topology_key: str = ""
    max_skew: Int32 = 0
    min_domains: Int32 | None = None
    label_selector: WireLabelSelector | None = None
    match_label_keys: list[str] | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None

    @property
    def is_hard(self) -> bool:
        """Whether it keeps pods from nodes: whatever is not said to be soft."""
        return self.when_unsatisfiable != "ScheduleAnyway"


def read_spreads(hard: Sequence[WireSpread], namespace: str) -> tuple[Spread, ...]:
    """Return the hard constraints of a pod of that namespace; none where one is not as the API has it.

    What is not said is as in filterTopologySpreadConstraints of the plugin podtopologyspread: one
    domain is enough, nodes are excluded by affinity and not by taints. `matchLabelKeys` is in the
    selector already: the API server puts it there (1.34 and later, unless a feature gate is off),
    for the labels that the pod has.
    """
    found = [_read(wire, namespace) for wire in hard]
    return tuple(one for one in found if one is not None) if all(found) else ()


def _read(wire: WireSpread, namespace: str) -> Spread | None:
    affinity = wire.node_affinity_policy or _HONOR
    taints = wire.node_taints_policy or _IGNORE
    least = 1 if wire.min_domains is None else wire.min_domains
    counted = read_counted_pods(wire.label_selector, namespace)
    is_known = (
        wire.when_unsatisfiable == "DoNotSchedule"
        and wire.topology_key
        and min(wire.max_skew, least) >= 1
        and {affinity, taints} <= {_HONOR, _IGNORE}
        and counted.is_exact
        and set(wire.match_label_keys or ()) <= {entry.key for entry in counted.selector}
    )
    if not is_known:
        return None
    return Spread(
        wire.topology_key, counted, wire.max_skew, least, affinity == _HONOR, taints == _HONOR
    )
