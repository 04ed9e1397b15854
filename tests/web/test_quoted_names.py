"""Controllers name nodes, queues and objects of other namespaces in their texts: who may read which.

The texts are those of kube-scheduler, Kueue, Karpenter and a quota, as they were observed.
"""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.domain.autoscaling import NodeClaim
from gangboard.domain.verdict import Evidence
from gangboard.store.gangs import Detail
from gangboard.store.models import Gang
from tests.domain_objects import a_meta, a_node, a_queue, an_alias
from tests.factories import make_event, make_finding, make_gang, make_members, store_object
from tests.personas import Person
from tests.stored_queues import serve, store
from tests.web.conftest import World

PATH = "Preempted to accommodate a workload; preemptor path: /pool-all/cq-vision; preemptee path: /pool-all/cq-research"
NOTES = (
    "Preempted by pod 6f1f6d2e-0001 on node gpu-07",
    "Preempted by vision/eval-0 on node gpu-09",
    "Pod should schedule on: nodeclaim/claim-7, node/gpu-07",
    "0/5 nodes are available: 5 Insufficient nvidia.com/gpu. no new claims to deallocate",
)
TEXT = "The scheduler says: no room on node gpu-09; vision/eval-0 is preferred."
HIDDEN = ("gpu-07", "gpu-09", "claim-7", "eval-0", "cq-vision", "pool-all")
PERMITTED_NAMES = (
    "cq-research",
    "own-node",
    "0/5 nodes are available",
    "Insufficient nvidia.com/gpu",
)


@pytest.fixture
def gang(world: World) -> Gang:
    """A gang of research whose events and evidence name objects outside of research."""
    eu = world.cluster
    serve(eu)
    store(
        eu,
        a_queue("cq-research", cohort="pool-all"),
        a_queue("cq-vision", cohort="pool-all"),
        an_alias("lq", to="cq-research", namespace="research"),
        an_alias("lq", to="cq-vision", namespace="vision", uid="uid-other"),
    )
    for name in ("gpu-07", "own-node"):
        store_object(eu, "nodes", a_node(name))
    store_object(
        eu, NODE_CLAIM.key, NodeClaim(a_meta("karpenter.sh", "NodeClaim", "claim-7", namespace=""))
    )
    make_gang(eu, "eval", now=timezone.now(), namespace="vision", gone_at=timezone.now())
    members = make_members("mine", 1, node="own-node")
    for number, note in enumerate((*NOTES, "Started on node own-node")):
        make_event(eu, f"e{number}", note, about=members[0].ref.uid, last_seen=timezone.now())
    finding = make_finding(message=TEXT, evidence=(Evidence("Evicted", PATH),))
    return make_gang(
        eu, "mine", now=timezone.now(), message=TEXT, detail=Detail((finding,), members=members)
    )


@pytest.mark.parametrize(
    "path",
    [
        "/gangs/{}/",
        "/gangs/{}/bundle.md",
        "/gangs/{}/row/",
        "/",
        "/api/v1/gangs/",
        "/api/v1/gangs/{}/",
    ],
)
def test_a_text_shows_a_reader_only_permitted_names(reader: Person, gang: Gang, path: str) -> None:
    text = _text(reader, path.format(gang.pk))
    assert [name for name in HIDDEN if name in text] == []
    if path.startswith("/gangs/{}/") and "row" not in path:
        assert [name for name in PERMITTED_NAMES if name not in text] == []


def test_a_cluster_viewer_reads_the_unredacted_texts(owner: Person, gang: Gang) -> None:
    text = _text(owner, f"/gangs/{gang.pk}/")
    assert [name for name in (*HIDDEN, *PERMITTED_NAMES) if name not in text] == []


def _text(person: Person, path: str) -> str:
    response = person.client.get(path)
    assert response.status_code == 200, path
    if path.startswith("/api"):
        return json.dumps(response.json())
    return response.content.decode()
