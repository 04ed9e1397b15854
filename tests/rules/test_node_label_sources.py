"""`no-matching-node` where an admission system has added labels to those that the owner selects."""

from __future__ import annotations

from dataclasses import replace

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.domain.queue import LabelSources
from gangboard.domain.quota import Flavor, QueueTree
from gangboard.domain.verdict import Finding
from tests.domain_objects import a_job, a_meta, an_entry, facts_of, pods_of, requests
from tests.placement.making import node

POD_SET = "kueue.x-k8s.io/podset"
SAYS = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
GROUP = "kueue.x-k8s.io"
OWNED, SPOT = {"reserve2": "yes"}, {"tier2": "spot"}


def a_flavor(name: str, **labels: str) -> Flavor:
    meta = a_meta(GROUP, "ResourceFlavor", name, namespace="")
    return Flavor(meta, labels)


def label_finding(
    *nodes: NodeInfo, flavor: Flavor | None = None, sources: LabelSources | None = None
) -> Finding:
    """Return the sentence about a Job whose two pods select both labels. It selects tier2 itself."""
    job = a_job("run", pods=2, requests=requests(cpu="1"), queue="lq")
    needs = PodConstraints(node_selector=(("reserve2", "yes"), ("tier2", "spot")))
    pods = pods_of(job, 2, needs=needs, text=SAYS, labels={POD_SET: "main"})
    entry = an_entry(
        job, admitted=True, has_quota=True, label_sources=(sources,) if sources else ()
    )
    queues = QueueTree()
    if flavor is not None:
        queues.flavors[flavor.meta.ref.group, flavor.meta.ref.name] = flavor
    facts = {"room": ClusterCapacity(nodes), "kubernetes": (1, 37), "queues": queues}
    finding = assess(facts_of(job, *pods, entry, **facts)).finding
    assert finding.code == "no-matching-node"
    return finding


def owned(**extra: str) -> LabelSources:
    return LabelSources(POD_SET, "main", frozenset({"tier2"}), ("owned2",), extra)


def test_the_flavor_that_adds_a_label_is_named() -> None:
    finding = label_finding(
        node("a", labels=OWNED), node("b", labels=SPOT),
        flavor=a_flavor("owned2", reserve2="yes"), sources=owned(),
    )  # fmt: skip
    assert finding.message == (
        "2 pods need a node with the labels reserve2=yes and tier2=spot, and none of the 2 "
        "nodes has all of them; ResourceFlavor owned2 adds reserve2=yes."
    )
    assert finding.advice_texts == (
        "Remove tier2=spot from the node selector of Job run, as no node with reserve2=yes has it: then "
        "both pods fit (needs re-creating).",
        "Use a queue that does not add reserve2=yes: then both pods fit (needs re-creating).",
    )
    named = ObjectRef(GROUP, "ResourceFlavor", "", "owned2", "uid-owned2")
    assert named in [item.source for item in finding.evidence]


def test_labels_that_the_owner_selects_by_itself() -> None:
    """Near misses: it has no entry; it selects both; its flavor has other labels; the flavor is not known."""
    nodes = node("a", labels=OWNED), node("b", labels=SPOT)
    flavor = a_flavor("owned2", reserve2="yes")
    both = replace(owned(), own=frozenset({"reserve2", "tier2"}))
    cases = (
        (flavor, None),
        (flavor, both),
        (a_flavor("owned2", other="yes"), owned()),
        (None, owned()),
    )
    for known, sources in cases:
        finding = label_finding(*nodes, flavor=known, sources=sources)
        assert "adds" not in finding.message
        assert finding.advice == ()


def test_a_label_of_a_flavor_that_no_node_has() -> None:
    """The owner cannot select another value: the flavor is wrong, or its nodes are gone."""
    finding = label_finding(
        node("a", labels={"reserve2": "no", **SPOT}), node("b", labels=SPOT),
        flavor=a_flavor("owned2", reserve2="yes"), sources=owned(),
    )  # fmt: skip
    assert "no" not in [item for step in finding.advice_texts for item in step.split("reserve2=")]
    assert finding.advice_texts[0] == (
        "Correct reserve2=yes in ResourceFlavor owned2, or label its nodes: no node has it."
    )
    assert not any("Select reserve2" in text for text in finding.advice_texts)


def test_a_label_that_an_admission_check_adds() -> None:
    finding = label_finding(
        node("a", labels=OWNED), node("b", labels=SPOT),
        flavor=a_flavor("owned2"), sources=owned(reserve2="burst"),
    )  # fmt: skip
    assert finding.message.endswith("; admission check burst adds reserve2=yes.")
    assert finding.advice_texts[0].startswith("Remove tier2=spot from the node selector of Job run")


def test_no_change_is_advised_that_would_not_do() -> None:
    """The nodes with either label are too small."""
    finding = label_finding(
        node("a", labels=OWNED, unschedulable=True),
        flavor=a_flavor("owned2", reserve2="yes"), sources=owned(),
    )  # fmt: skip
    assert not any(text.startswith(("Remove", "Use")) for text in finding.advice_texts)
