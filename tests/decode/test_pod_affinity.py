"""Required affinity to pods: the pods that a term matches, and unsupported terms."""

from __future__ import annotations

import pytest

from gangboard.domain.pod_constraints import HOSTNAME, PodTerm
from gangboard.placement.matching import matches_pod
from tests.decode.needing import REQUIRED, SELECTOR, ZONE, by_host, pod
from tests.decode.reading import Json


def affinity_of(*terms: Json) -> tuple[PodTerm | None, tuple[str, ...]]:
    needs = pod(affinity={"podAffinity": {REQUIRED: list(terms)}}).needs
    return needs.pod_affinity, needs.unsupported


def test_a_term_matches_one_pod_and_not_the_other() -> None:
    term, rest = affinity_of(by_host())
    assert term is not None
    assert (term.topology_key, rest) == (HOSTNAME, ())
    assert matches_pod(term, "team-a", {"app": "train"})
    assert not matches_pod(term, "team-b", {"app": "train"})
    assert not matches_pod(term, "team-a", {"app": "other"})


def test_several_affinity_terms_must_all_match() -> None:
    """podMatchesAllAffinityTerms: one pod counts when every term is about it."""
    other = by_host({"matchLabels": {"tier": "cache"}}, namespaces=["team-a", "team-b"])
    term, rest = affinity_of(by_host(), other)
    assert term is not None
    assert rest == ()
    assert matches_pod(term, "team-a", {"app": "train", "tier": "cache"})
    assert not matches_pod(term, "team-a", {"app": "train"})
    assert not matches_pod(term, "team-b", {"app": "train", "tier": "cache"})


def test_an_empty_selector_matches_every_namespace() -> None:
    term, _ = affinity_of(by_host(namespaceSelector={}))
    assert term is not None
    assert matches_pod(term, "anywhere", {"app": "train"})


@pytest.mark.parametrize(
    "terms",
    [
        (by_host(), {"topologyKey": ZONE, "labelSelector": SELECTOR}),
        (by_host(namespaceSelector={"matchLabels": {"team": "a"}}),),
        (by_host({"matchExpressions": [{"key": "x", "operator": "Near", "values": ["y"]}]}),),
        (by_host(None),),
    ],
)
def test_complex_affinity_is_unsupported(terms: tuple[Json, ...]) -> None:
    assert affinity_of(*terms) == (None, ("pod affinity",))
