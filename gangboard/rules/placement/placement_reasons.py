"""What stands in the way of members that the scheduler refuses: reasons that arithmetic and lookups tell.

All are asked in the same way, and their sentences are in `gangboard.placement.sentences`. A row has what
only one reason knows; which of them it is, is decided there as well.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding
from gangboard.facts.unit import Unit
from gangboard.placement.sentences.finding import placement_finding
from gangboard.plugins.rule import UnitRule


def _rule(
    code: str, title: str, order: int, health: Health, *, for_merged_units: bool = True
) -> UnitRule:
    """Return the rule that finds something when its code is why such members have no node."""

    def find(unit: Unit) -> Finding | None:
        return placement_finding(rule, unit)

    rule = UnitRule(
        code,
        Stage.PLACEMENT,
        title,
        order,
        find,
        health=health,
        for_waiting_units=True,
        for_merged_units=for_merged_units,
    )
    return rule


RULES = (
    # The cluster has no node at all; the scheduler says `no nodes available to schedule pods`. An
    # autoscaler that brings the first node is `waiting-for-nodes`, which is asked before.
    _rule("no-nodes", "No nodes", 52, Health.BLOCKED),
    # No node is what the owner asked for: node selector, required node affinity, a resource that no
    # node has at all, more in one pod than the largest node has. What was done to nodes that would
    # match (a taint, a cordon) has codes of its own.
    _rule("no-matching-node", "No matching node", 54, Health.BLOCKED),
    # Most nodes that suit the owner have a taint that the pods do not tolerate. Of several filters the
    # one that removes most nodes gives the code, the sentence has all of them.
    _rule("untolerated-taint", "Untolerated taint", 56, Health.BLOCKED),
    # Most nodes that suit the owner are cordoned, or not ready. A cordon is also the taint
    # `node.kubernetes.io/unschedulable`, and a node that is not ready has the taint `not-ready` or
    # `unreachable`: nobody should tolerate these, so they are no `untolerated-taint`.
    _rule("nodes-unschedulable", "Nodes unschedulable", 58, Health.BLOCKED),
    # It would not fit even if every pod that can leave had left: counted on the nodes that could host
    # a member; pods of DaemonSets and static pods stay.
    _rule("exceeds-capacity", "Exceeds capacity", 60, Health.BLOCKED),
    # A volume claim does not exist, is not bound, or its volume is out of reach. The claims that pods
    # name are looked up, since the scheduler can hide what it finds behind an error; where they cannot
    # be, and of volumes, its text decides. What turns pods away before nodes are looked at (a claim
    # that does not exist) stands before lack of room, since no room would help; what the scheduler
    # finds on nodes only where the amounts would fit. Blocked when nothing of it can pass by itself.
    _rule("volume-unavailable", "Volume unavailable", 62, Health.BLOCKED, for_merged_units=False),
    # A ResourceClaim does not exist, or its devices cannot be allocated. A pod whose claim does not
    # exist is held back before it is tried, and the scheduler says nothing of it: so claims are looked
    # up. Of devices, and where claims cannot be looked at, the scheduler's text decides.
    _rule(
        "claim-unavailable",
        "Resource claim unavailable",
        64,
        Health.WAITING,
        for_merged_units=False,
    ),
    # It fits without its topology constraint, and not with it. Waiting while one domain would have
    # room if pods left it, blocked when none is large enough.
    _rule("topology-does-not-fit", "Topology does not fit", 66, Health.WAITING),
    # It fits without its host ports, and not with them: two pods with the same host port never share a
    # node. Blocked when too few nodes could host one each.
    _rule("port-conflict", "Host port taken", 68, Health.WAITING),
    # It fits without required anti-affinity, and not with it. Anti-affinity by host is worked out; for
    # any other topology the scheduler's text decides.
    _rule("pod-anti-affinity", "Pod anti-affinity", 70, Health.WAITING),
    # The nodes have room, but take no more pods: the resource `pods` decides. Blocked when the nodes
    # would not take so many even when empty.
    _rule("node-pod-limit", "Limit of pods per node", 72, Health.WAITING),
    # It fits on the nodes, and too little is free on them now. Counted over the nodes that could host a
    # member; what is free on others is of no use to it.
    _rule("insufficient-resources", "Insufficient resources", 76, Health.WAITING),
    # Enough is free in total, and no placement exists, or the scheduler misses it. The scheduler's text
    # is the same as for too little room (`4 Insufficient nvidia.com/gpu`): only arithmetic over nodes
    # tells them apart (observed on 1.37.0). A placement that exists and that the scheduler's order
    # misses is said as such: it takes a gang's pods one after the other.
    _rule("fragmented", "Fragmented", 78, Health.WAITING),
    # The amounts fit, and topology spread constraints are not met. One constraint of equal pods is
    # worked out; of more than that the scheduler's text tells, where the amounts would fit.
    _rule("spread-constraints", "Spread constraints", 80, Health.WAITING),
)
