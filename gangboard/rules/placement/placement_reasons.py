"""Reasons why the scheduler refuses members, as the arithmetic and lookups find them.

`gangboard.placement.sentences` decides which reason applies and has its sentence. A row of the table has the
properties of one reason.
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
    """Return the rule whose finding says why members have no node, if the reason has this code."""

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
        is_solved_by_capacity=for_merged_units,
    )
    return rule


RULES = (
    # The cluster has no node, and the scheduler says `no nodes available to schedule pods`. If an autoscaler
    # brings the first node, the reason is `waiting-for-nodes`, which comes before.
    _rule("no-nodes", "No nodes", 52, Health.BLOCKED),
    # No node matches the node selector or the required node affinity, no node has a requested resource, or
    # one pod requests more than the largest node has. Changes of matching nodes (a taint, a cordon) have
    # codes of their own.
    _rule("no-matching-node", "No matching node", 54, Health.BLOCKED),
    # Most matching nodes have a taint that the pods do not tolerate. If several filters apply, the code is
    # that of the filter that removes most nodes, and the sentence has all of them.
    _rule("untolerated-taint", "Untolerated taint", 56, Health.BLOCKED),
    # Most matching nodes are cordoned or not ready. A cordon is also the taint
    # `node.kubernetes.io/unschedulable`, and a node that is not ready has the taint `not-ready` or
    # `unreachable`. Pods should not tolerate these, so the code is not `untolerated-taint`.
    _rule("nodes-unschedulable", "Nodes unschedulable", 58, Health.BLOCKED),
    # The gang would not fit even without all pods that can leave. The count covers the nodes that can host a
    # member. Pods of DaemonSets and static pods stay.
    _rule("exceeds-capacity", "Exceeds capacity", 60, Health.BLOCKED),
    # A volume claim does not exist or is not bound, or its volume cannot be reached. The rule looks the
    # claims up, because an error of the scheduler can hide the cause. If claims cannot be read, and for
    # volumes, the scheduler's text decides. A missing claim comes before lack of room, because room would not
    # help. Problems that the scheduler finds on nodes count only if the amounts would fit. It is blocked if
    # it cannot resolve by itself.
    _rule("volume-unavailable", "Volume unavailable", 62, Health.BLOCKED, for_merged_units=False),
    # A ResourceClaim does not exist, or its devices cannot be allocated. The scheduler holds a pod with a
    # missing claim back without a message, so the rule looks claims up. For devices, and if claims cannot be
    # read, the scheduler's text decides.
    _rule(
        "claim-unavailable",
        "Resource claim unavailable",
        64,
        Health.WAITING,
        for_merged_units=False,
    ),
    # The gang fits only without its topology constraint. It waits if a domain would have room without other
    # pods, and is blocked if no domain is large enough.
    _rule("topology-does-not-fit", "Topology does not fit", 66, Health.WAITING),
    # The gang fits only without its host ports, because two pods with the same host port never share a node.
    # It is blocked if too few nodes can host one pod each.
    _rule("port-conflict", "Host port taken", 68, Health.WAITING),
    # The gang fits only without required anti-affinity. The arithmetic covers anti-affinity by host. For any
    # other topology the scheduler's text decides.
    _rule("pod-anti-affinity", "Pod anti-affinity", 70, Health.WAITING),
    # The nodes have the resources but take no more pods (resource `pods`). It is blocked if they would not
    # take so many even when empty.
    _rule("node-pod-limit", "Limit of pods per node", 72, Health.WAITING),
    # The gang fits on the nodes, but too little is free now. The count covers the nodes that can host a
    # member.
    _rule("insufficient-resources", "Insufficient resources", 76, Health.WAITING),
    # Enough is free in total, but no placement exists or the scheduler misses it. The scheduler's text is the
    # same as for too little room (`4 Insufficient nvidia.com/gpu`), so only arithmetic over nodes tells them
    # apart (observed on 1.37.0). The scheduler takes the pods of a gang one after the other and can miss a
    # placement. The sentence says so.
    _rule("fragmented", "Fragmented", 78, Health.WAITING),
    # The amounts fit, but topology spread constraints are not met. The arithmetic covers one constraint of
    # equal pods. For several constraints the scheduler's text decides, if the amounts would fit.
    _rule("spread-constraints", "Spread constraints", 80, Health.WAITING),
)
