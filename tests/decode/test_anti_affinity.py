"""Required anti-affinity of pods: equal terms, and the pods that a term matches."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints
from gangboard.placement.matching import matches_pod
from tests.decode.needing import REQUIRED, SELECTOR, ZONE, by_host, pod
from tests.decode.reading import Json


def anti(*terms: Json, **extra: Any) -> PodConstraints:
    labels = extra.pop("labels", {"app": "train", "rank": "0"})
    namespace = extra.pop("namespace", "team-a")
    affinity = {"podAntiAffinity": {REQUIRED: list(terms)}}
    return pod(namespace, labels, affinity=affinity).needs


def test_equivalent_terms_are_equal() -> None:
    same = {"key": "app", "operator": "In", "values": ["train"]}
    written = [
        by_host(),
        by_host({"matchExpressions": [same]}),
        by_host({"matchLabels": {"app": "train"}, "matchExpressions": [same, same]}),
        by_host(namespaces=["team-a"]),
        by_host(namespaces=[]),
    ]
    terms = {anti(term, labels={"rank": str(rank)}).anti_affinity
             for rank, term in enumerate(written)}  # fmt: skip
    ((term,),) = terms
    assert term.name == "team-a/app=train"
    assert term.is_exact
    assert all(anti(term).unsupported == () for term in written)


def test_match_label_keys_are_part_of_the_selector() -> None:
    # As the API server serves `matchLabelKeys: [rank]`.
    merged = {**SELECTOR, "matchExpressions": [{"key": "rank", "operator": "In", "values": ["0"]}]}
    plain = {"matchLabels": {"app": "train", "rank": "0"}}
    assert anti(by_host(merged, matchLabelKeys=["rank"])) == anti(by_host(plain))
    assert anti(by_host(merged, matchLabelKeys=["rank"])) != anti(by_host())


def test_foreign_namespaces_selectors_and_topologies_are_separate_terms() -> None:
    expressions = [{"key": "app", "operator": "In", "values": ["serve", "train"]}]
    team = {"matchLabels": {"team": "a"}}
    terms = [
        anti(by_host()),
        anti(by_host(), namespace="team-b"),
        anti(by_host({"matchLabels": {"app": "train", "rank": "0"}})),
        anti(by_host({"matchExpressions": expressions})),
        anti(by_host({"matchExpressions": [{"key": "app", "operator": "Exists"}]})),
        anti(by_host({})),
        anti(by_host(namespaces=["team-a", "team-b"])),
        anti(by_host(namespaceSelector={})),
        anti(by_host(namespaceSelector=team)),
        anti(by_host(namespaceSelector=team, namespaces=["team-b"])),
        anti({"topologyKey": ZONE, "labelSelector": SELECTOR}),
    ]
    assert len({term for result in terms for term in result.anti_affinity}) == len(terms)


# Results of labels.Selector and AffinityTerm.Matches for the pods (team-a, app=train, rank=0),
# (team-b, app=train) and (team-a, without labels).
MATCHES: list[tuple[Json, tuple[bool, bool, bool]]] = [
    (by_host(), (True, False, False)),
    (by_host({}), (True, False, True)),
    (by_host({"matchLabels": {"app": "other"}}), (False, False, False)),
    (by_host({"matchLabels": {"app": "train", "rank": "0"}}), (True, False, False)),
    (by_host(namespaces=["team-b"]), (False, True, False)),
    (by_host(namespaces=["team-a", "team-b"]), (True, True, False)),
    (by_host(namespaceSelector={}), (True, True, False)),
    (by_host(namespaceSelector={}, namespaces=["team-b"]), (True, True, False)),
    *(
        (by_host({"matchExpressions": [expression]}), matches)
        for expression, matches in (
            ({"key": "app", "operator": "In", "values": ["a", "train"]}, (True, False, False)),
            ({"key": "app", "operator": "NotIn", "values": ["train"]}, (False, False, True)),
            ({"key": "rank", "operator": "NotIn", "values": ["1"]}, (True, False, True)),
            ({"key": "app", "operator": "Exists"}, (True, False, False)),
            ({"key": "app", "operator": "DoesNotExist"}, (False, False, True)),
        )
    ),
    # As the API server serves `mismatchLabelKeys: [rank]`: put into the selector.
    (
        by_host(
            {
                **SELECTOR,
                "matchExpressions": [{"key": "rank", "operator": "NotIn", "values": ["0"]}],
            },
            mismatchLabelKeys=["rank"],
        ),
        (False, False, False),
    ),
]


@pytest.mark.parametrize(("term", "expected"), MATCHES)
def test_which_pods_a_term_matches(term: Json, expected: tuple[bool, bool, bool]) -> None:
    result = anti(term)
    (created,) = result.anti_affinity
    assert created.is_exact
    assert result.unsupported == ()
    assert expected == (
        matches_pod(created, "team-a", {"app": "train", "rank": "0"}),
        matches_pod(created, "team-b", {"app": "train"}),
        matches_pod(created, "team-a", {}),
    )


@pytest.mark.parametrize(
    "term",
    [
        by_host(namespaceSelector={"matchLabels": {"team": "a"}}),
        by_host(
            {**SELECTOR, "matchExpressions": [{"key": "x", "operator": "Near", "values": ["y"]}]}
        ),
    ],
)
def test_complex_anti_affinity_is_unsupported(term: Json) -> None:
    result = anti(term)
    (created,) = result.anti_affinity
    assert not created.is_exact
    assert result.unsupported == ("pod anti-affinity",)
    # It may be about such a pod, and it is not about the other.
    assert matches_pod(created, "team-a", {"app": "train"})
    assert not matches_pod(created, "team-a", {"app": "other"})


def test_zone_and_host_anti_affinity_are_two_terms() -> None:
    result = anti(by_host(), {"topologyKey": ZONE, "labelSelector": SELECTOR})
    assert [term.topology_key for term in result.anti_affinity] == [HOSTNAME, ZONE]
    assert [term.is_by_host for term in result.anti_affinity] == [True, False]
    assert all(term.is_exact for term in result.anti_affinity)
    assert result.unsupported == ()


def test_exact_and_inexact_terms_are_separate() -> None:
    result = anti(by_host(), by_host(namespaceSelector={"matchLabels": {"team": "a"}}))
    assert sorted(term.is_exact for term in result.anti_affinity) == [False, True]
    assert result.unsupported == ("pod anti-affinity",)


def test_term_without_a_selector_matches_no_pod() -> None:
    # LabelSelectorAsSelector: a null selector matches no pod, an empty one every pod.
    assert anti(by_host(None)) == PodConstraints()
