"""Topology spread constraints of a pod, supported and unsupported ones."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.pod_constraints import HOSTNAME, Spread
from gangboard.placement.matching import matches_pod
from tests.decode.needing import REQUIRED, SELECTOR, ZONE, by_host, needs
from tests.decode.reading import Json, read, with_identity


def spread(**extra: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
        **extra,
    }


def of_spread(*constraints: Json) -> Spread:
    result = needs(topologySpreadConstraints=list(constraints))
    assert result.unsupported == ()
    (only,) = result.spreads
    return only


def test_a_hard_spread_constraint_is_decoded() -> None:
    # Defaults of filterTopologySpreadConstraints: minDomains 1, Honor, Ignore.
    result = of_spread(spread())
    assert (result.topology_key, result.max_skew, result.min_domains) == (ZONE, 1, 1)
    assert (result.honours_affinity, result.honours_taints) == (True, False)
    assert matches_pod(result.counted, "team-a", {"app": "train", "rank": "0"})
    assert not matches_pod(result.counted, "team-b", {"app": "train"})
    assert not matches_pod(result.counted, "team-a", {"app": "other"})
    assert (result.counted.is_count, result.counted.is_exact) == (True, True)
    soft = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    assert of_spread(soft, spread()) == result


def test_a_spread_constraint_with_everything() -> None:
    result = of_spread(
        spread(
            maxSkew=3,
            minDomains=2,
            nodeAffinityPolicy="Ignore",
            nodeTaintsPolicy="Honor",
            matchLabelKeys=["pod-template-hash"],
            labelSelector={
                "matchExpressions": [
                    {"key": "app", "operator": "Exists"},
                    {"key": "pod-template-hash", "operator": "In", "values": ["a1"]},
                ]
            },
        )
    )
    assert (result.max_skew, result.min_domains) == (3, 2)
    assert (result.honours_affinity, result.honours_taints) == (False, True)
    assert matches_pod(result.counted, "team-a", {"app": "x", "pod-template-hash": "a1"})
    assert not matches_pod(result.counted, "team-a", {"app": "x", "pod-template-hash": "b2"})


def test_spread_and_anti_affinity_terms_differ() -> None:
    result = needs(
        affinity={"podAntiAffinity": {REQUIRED: [by_host()]}},
        topologySpreadConstraints=[spread(topologyKey=HOSTNAME)],
    )
    (only,) = result.spreads
    assert only.counted not in result.anti_affinity


def test_several_constraints_keep_their_order() -> None:
    result = needs(topologySpreadConstraints=[spread(maxSkew=2), spread(topologyKey=HOSTNAME)])
    assert [(item.topology_key, item.max_skew) for item in result.spreads] == [
        (ZONE, 2),
        (HOSTNAME, 1),
    ]
    assert result.spread_keys == (HOSTNAME, ZONE)
    assert result.unsupported == ()


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}, "matchExpressions": []}])
def test_a_missing_or_empty_selector_counts_no_pod(selector: Json | None) -> None:
    # countPodsMatchSelector in podtopologyspread/common.go (1.35 to 1.37) begins
    # `if selector.Empty() { return 0 }`.
    counted = of_spread(spread(labelSelector=selector)).counted
    assert not matches_pod(counted, "team-a", {})
    assert not matches_pod(counted, "team-a", {"": "", "a": "b"})
    assert counted.is_exact


@pytest.mark.parametrize(
    "constraints",
    [
        [spread(), spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Perhaps")],
        [spread(whenUnsatisfiable="Sometimes")],
        [spread(maxSkew=0)],
        [spread(minDomains=0)],
        [spread(topologyKey="")],
        [spread(nodeTaintsPolicy="Perhaps")],
        [spread(nodeAffinityPolicy="Perhaps")],
        [spread(labelSelector={"matchExpressions": [{"key": "app", "operator": "Gt"}]})],
        # A pod without such a label, or an API server that does not add it.
        [spread(matchLabelKeys=["pod-template-hash"])],
    ],
)
def test_complex_spread_is_unsupported(constraints: list[Json]) -> None:
    result = needs(topologySpreadConstraints=constraints)
    assert result.spreads == ()
    assert result.unsupported == ("spread constraints",)


@pytest.mark.parametrize(
    "broken", [{"maxSkew": "one"}, {"minDomains": 2**40}, {"labelSelector": ["app"]}]
)
def test_malformed_spread_constraint_is_reported(broken: Json) -> None:
    spec = {"topologySpreadConstraints": [spread(**broken)]}
    _, problem = read(POD, with_identity({"spec": spec}))
    assert problem is not None
