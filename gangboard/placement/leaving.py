"""Where members could go, and how nodes are once some of what is on them has left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import Load, NodeRoom
from gangboard.placement.ground import Mask
from gangboard.placement.hosts import hosts_of
from gangboard.placement.neighbours import fewer
from gangboard.placement.trial import Trial


def where(trial: Trial) -> Mask:
    """Return the nodes that could host a member."""
    keys = trial.request.topology_keys
    masks = [hosts_of(trial.ground, party.shape).eligible(keys) for party in trial.parties]
    found: Mask = np.logical_or.reduce(masks)
    return found


def lacking(trial: Trial) -> int:
    """Return how much of the deciding resource is missing in total: at least so much must go."""
    for total in trial.assessment.totals:
        if total.resource == trial.deciding:
            return max(1, total.needed - total.free)
    return 1


def nodes_without(trial: Trial, parts: Iterable[Mapping[str, Load]]) -> dict[str, NodeRoom]:
    """Return the nodes, by name, from which these parts have gone, without them."""
    changed: dict[str, NodeRoom] = {}
    for part in parts:
        for name, load in part.items():
            node = changed.get(name) or trial.find(name)
            if node is not None:
                changed[name] = replace(node, now=_less(node.now, load, node.staying))
    return changed


def _less(load: Load, gone: Load, staying: Load) -> Load:
    """Return what is left on a node; ports that pods share which stay are kept."""
    amounts: Mapping[str, int] = {
        resource: amount - gone.amounts.get(resource, 0)
        for resource, amount in load.amounts.items()
    }
    return Load(
        amounts,
        load.pods - gone.pods,
        (load.host_ports - gone.host_ports) | staying.host_ports,
        fewer(load.apart, gone.apart),
        fewer(load.matched, gone.matched),
    )
