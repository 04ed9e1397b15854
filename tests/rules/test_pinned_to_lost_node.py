"""`pinned-to-lost-node`: a pod that a queue pinned to a node that is gone."""

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints, Requirement, Term
from gangboard.domain.queue import AssignedNodes
from gangboard.domain.verdict import Finding
from tests.domain_objects import a_job, a_pod, an_entry, facts_of
from tests.sentence_values import values_in

LABEL = "kueue.x-k8s.io/podset"
JOB = a_job("moe", pods=3, queue="lq")
SINGLE = a_job("moe", pods=1)


def finding(
    asked: str, *, why: str = "", assigned: tuple[str, ...] = ("n0", "n1", "n3")
) -> Finding:
    labels = {LABEL: "main"}
    placed = [a_pod(f"moe-{i}", of=JOB, on=f"n{i}", labels=labels) for i in (0, 1)]
    needs = PodConstraints(node_selector=((HOSTNAME, asked),))
    text = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
    waits = a_pod("moe-2", of=JOB, labels=labels, needs=needs, text=text)
    names = ("n0", "n1", "n3")
    nodes = () if why else tuple(NodeInfo(name, {HOSTNAME: name}) for name in names)
    chosen = (AssignedNodes(LABEL, "main", dict.fromkeys(assigned, 1)),)
    entry = an_entry(JOB, admitted=True, has_quota=True, assigned=chosen if assigned else ())
    room = ClusterCapacity(nodes, why)
    return assess(facts_of(JOB, *placed, waits, entry, room=room)).finding


def test_a_missing_node_has_a_newly_assigned_replacement() -> None:
    lost = finding("n2")
    assert (lost.code, lost.health) == ("pinned-to-lost-node", Health.DEGRADED)
    assert "node n2, which is gone" in lost.message
    (step,) = lost.advice
    assert values_in(step.text) == "moe-2 n3"
    assert step.command == ("kubectl", "delete", "pods", "-n", "team-a", "moe-2")


def test_a_missing_node_has_no_replacement() -> None:
    assert finding("n2", assigned=("n0", "n1", "n2")).advice == ()


def test_a_name_that_no_queue_gave_may_never_have_been_a_node() -> None:
    assert "node nn2, which does not exist" in finding("nn2", assigned=()).message


def test_an_existing_or_unobserved_node_is_not_lost() -> None:
    assert finding("n3").code != "pinned-to-lost-node"
    assert finding("n2", why="nodes: forbidden").code != "pinned-to-lost-node"


def test_an_existing_cordoned_node_is_not_lost() -> None:
    """Its pod waits for that node to be uncordoned."""
    needs = PodConstraints(node_selector=((HOSTNAME, "n0"),))
    text = "0/1 nodes are available: 1 node(s) were unschedulable."
    pod = a_pod("moe-0", of=SINGLE, needs=needs, text=text)
    room = ClusterCapacity((NodeInfo("n0", {HOSTNAME: "n0"}, unschedulable=True),))
    verdict = assess(facts_of(SINGLE, pod, room=room))
    assert verdict.finding.code == "nodes-unschedulable"


def by_affinity(*terms: Term, nodes: tuple[str, ...] = ("n0", "n1")) -> Finding:
    needs = PodConstraints(affinity=terms)
    text = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    pod = a_pod("moe-0", of=SINGLE, needs=needs, text=text)
    room = ClusterCapacity(tuple(NodeInfo(name, {HOSTNAME: f"host-{name}"}) for name in nodes))
    return assess(facts_of(SINGLE, pod, room=room)).finding


def test_nodes_that_required_affinity_names() -> None:
    """By the hostname label, or by the name field. Near misses: one of them exists, another term."""
    hosts = Term((Requirement(HOSTNAME, "In", ("host-n7", "host-n8")),))
    field = Term((), (Requirement("metadata.name", "In", ("n9",)),))
    lost = by_affinity(hosts, field)
    assert lost.code == "pinned-to-lost-node"
    assert "nodes host-n7, host-n8 and n9, which do not exist" in lost.message
    existing = Term((Requirement(HOSTNAME, "In", ("host-n7", "host-n1")),))
    absent = Term((Requirement(HOSTNAME, "NotIn", ("host-n0", "host-n1")),))
    rack = Term((Requirement("rack", "In", ("r1",)),))
    for terms in ((existing,), (absent,), (field, rack), (rack,)):
        assert by_affinity(*terms).code != "pinned-to-lost-node"
    # The name of a node is not the label of its host.
    assert by_affinity(Term((Requirement(HOSTNAME, "In", ("n0",)),))).code == "pinned-to-lost-node"
