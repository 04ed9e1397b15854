"""Decoder of topology spread constraints."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.decode.selectors import WireLabelSelector, read_counted_pods
from gangboard.decode.wire import Int32, Wire
from gangboard.domain.pod_constraints import Spread

_HONOR, _IGNORE = "Honor", "Ignore"


class WireSpread(Wire):
    """Entry of `topologySpreadConstraints`."""

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
        """Whether it can exclude nodes. Any value other than `ScheduleAnyway` counts as hard."""
        return self.when_unsatisfiable != "ScheduleAnyway"


def read_spreads(hard: Sequence[WireSpread], namespace: str) -> tuple[Spread, ...]:
    """Return the hard constraints of a pod in this namespace. Empty if any constraint is unsupported.

    The defaults are those of filterTopologySpreadConstraints in the plugin podtopologyspread: one domain is enough, and
    nodes are excluded by affinity but not by taints. The API server adds `matchLabelKeys` to the selector for the labels
    of the pod (1.34 and later, unless a feature gate is off).
    """
    spreads = [_read(wire, namespace) for wire in hard]
    return tuple(spread for spread in spreads if spread is not None) if all(spreads) else ()


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
