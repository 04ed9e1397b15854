"""Cluster text is untrusted, because every pod author can write it."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from gangboard.domain.event import Event
from gangboard.domain.group import GroupTemplate, Policy
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition, Meta
from gangboard.domain.verdict import Evidence, FitReason, Scheduling
from gangboard.store.gangs import Detail
from gangboard.store.models import ActionStep, Cluster, Gang, WatchedObject
from gangboard.store.objects import pack
from tests.factories import (
    make_cluster,
    make_finding,
    make_gang,
    make_heartbeats,
    make_job,
    make_members,
    make_podgroup,
    make_ref,
    make_resource,
)
from tests.personas import Person, make_owner
from tests.readmodels.room import make_capacity, make_fit, make_node, make_shape
from tests.recorded_actions import make_action, make_audit
from tests.stored_jobsets import make_hold

HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7|add:7 }}\u202e javascript:x"
)


@pytest.fixture
def hostile(db: None) -> tuple[Person, str]:
    """Put it into every field that comes from a cluster; return who looks, and the gang's id."""
    now = timezone.now()
    cluster = make_cluster("eu-train", now=now, server=HOSTILE, server_version=HOSTILE[:64])
    Cluster.objects.filter(pk=cluster.pk).update(sentence=HOSTILE, problem="x")
    make_heartbeats(now=now)
    make_resource(
        cluster,
        HOSTILE,
        state="forbidden",
        sentence=HOSTILE,
        problems=[{"namespace": HOSTILE, "name": HOSTILE, "sentence": HOSTILE}],
        problems_count=1,
        version=HOSTILE[:32],
    )
    finding = make_finding(
        HOSTILE,
        title=HOSTILE,
        message=HOSTILE,
        unit=HOSTILE,
        advice=(HOSTILE,),
        evidence=(Evidence(HOSTILE, HOSTILE),),
    )
    job = make_job(
        HOSTILE,
        part=HOSTILE + "2",
        nodes=(HOSTILE,),
        scheduling=Scheduling(HOSTILE, HOSTILE, HOSTILE),
        finding=finding,
    )
    members = make_members(HOSTILE, 2, Health.WAITING, node=HOSTILE, label=HOSTILE, reason=HOSTILE)
    group = make_podgroup(
        cluster,
        HOSTILE,
        workload_name=HOSTILE,
        template_name=HOSTILE,
        parent_name=HOSTILE,
        topology_keys=(HOSTILE,),
        policy=Policy.UNKNOWN,
        policy_text=HOSTILE,
        templates=(GroupTemplate(HOSTILE, Policy.GANG, 1),),
        placed=Condition(HOSTILE, HOSTILE, HOSTILE, HOSTILE, now),
    )
    gang = make_gang(
        cluster,
        HOSTILE,
        now=now,
        kind=HOSTILE[:63],
        api_group=HOSTILE,
        api_version=HOSTILE[:32],
        code=HOSTILE[:64],
        title=HOSTILE,
        message=HOSTILE,
        advice=[HOSTILE],
        queue=HOSTILE,
        priority=HOSTILE,
        requests={HOSTILE: HOSTILE},
        stage=HOSTILE[:16],
        detail=Detail(
            findings=(finding, finding),
            jobs=(job,),
            members=members,
            groups=(group.meta.ref,),
            fit=(
                make_fit(
                    unit=HOSTILE,
                    shape=HOSTILE,
                    requests={HOSTILE: HOSTILE},
                    saturated=(FitReason(HOSTILE, 1, HOSTILE, (HOSTILE,)),),
                    excluded=(FitReason(HOSTILE, 1, HOSTILE, (HOSTILE,)),),
                ),
                make_fit(why=HOSTILE),
            ),
        ),
    )
    make_hostile_nodes(cluster)
    event = Event(
        meta=Meta("v1", make_ref("Event", "e", group="events.k8s.io"), "1", 0, now),
        regarding=make_ref(HOSTILE, HOSTILE, uid=gang.uid),
        reason=HOSTILE,
        type=HOSTILE,
        note=HOSTILE,
        count=1,
        first_seen=now,
        last_seen=now,
        reporter=HOSTILE,
    )
    WatchedObject.objects.create(
        cluster=cluster,
        resource="events.events.k8s.io",
        about=gang.uid,
        uid="e",
        namespace="research",
        name="e",
        resource_version="1",
        data=pack(event),
    )
    make_hostile_record(cluster, gang)
    return make_owner(), gang.id


def make_hostile_nodes(cluster: Cluster) -> None:
    """Put it into a node, and into what fits."""
    device = f"example.com/{HOSTILE}"
    make_node(
        cluster,
        HOSTILE,
        labels={HOSTILE: HOSTILE},
        taints=[f"{HOSTILE}:NoSchedule"],
        allocatable={device: "8", "cpu": HOSTILE},
        used={device: "1"},
        held={},
    )
    make_node(cluster, "n2", labels={HOSTILE: HOSTILE})
    shape = make_shape(requests={device: HOSTILE}, why=HOSTILE)
    make_capacity(cluster, shapes=(shape,))


def make_hostile_record(cluster: Cluster, gang: Gang) -> None:
    """Put it into an action, its steps, the audit and a Hold."""
    action = make_action(
        cluster,
        id="0" * 32,
        gang_id=gang.id,
        kind=HOSTILE[:63],
        name=HOSTILE,
        uid=HOSTILE[:64],
        reason=HOSTILE,
        actor_name=HOSTILE,
        message=HOSTILE,
        lever=HOSTILE[:16],
        reverted_by=HOSTILE,
        state="reverted",
        batch="b",
        warnings=[HOSTILE],
        reactions=[HOSTILE],
        before={HOSTILE: HOSTILE},
        after={HOSTILE: HOSTILE},
    )
    ActionStep.objects.create(
        action=action,
        position=0,
        kind="patch",
        name=HOSTILE,
        method="PATCH",
        path=HOSTILE,
        patch=HOSTILE,
        state=HOSTILE[:16],
        result=HOSTILE,
    )
    make_audit(cluster, "research", HOSTILE, actor_name=HOSTILE, object_name=HOSTILE, action=action)
    make_hold(cluster, gang, HOSTILE, by=HOSTILE, reason=HOSTILE, action=HOSTILE, owner_uid=HOSTILE)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?group_by=reason",
        "/?q=<script>alert(1)</script>&cluster=<script>alert(1)</script>&code=<script>",
        "/gangs/GANG/",
        "/groups/",
        "/groups/?q=<script>alert(1)</script>&namespace=<script>alert(1)</script>",
        "/clusters/",
        "/clusters/eu-train/",
        "/reasons/",
        "/reasons/?cluster=<script>alert(1)</script>&namespace=<script>",
        "/capacity/",
        "/capacity/?by=<script>alert(1)</script>",
        "/capacity/?cluster=<script>alert(1)</script>",
        "/live/reasons/?version=x",
        "/live/capacity/?version=x",
        "/actions/",
        "/actions/?q=<script>alert(1)</script>&actor=<script>&state=<script>&lever=<script>",
        "/actions/audit/",
        "/actions/audit/?event=<script>alert(1)</script>",
        "/actions/00000000000000000000000000000000/",
        "/actions/batches/b/",
        "/holds/",
        "/holds/?q=<script>&namespace=<script>alert(1)</script>",
        "/actions/node/?cluster=eu-train&node=<script>alert(1)</script>",
        "/live/actions/?version=x",
        "/live/actions/00000000000000000000000000000000/?version=x",
        "/live/asked/?batch=b&version=x",
        "/live/audit/?version=x",
        "/live/holds/?version=x",
        "/live/board/?version=x",
        "/live/gangs/GANG/?version=x",
        "/live/groups/?version=x",
        "/live/clusters/?version=x",
        "/live/clusters/eu-train/?version=x",
    ],
)
def test_hostile_text_is_printed_and_never_executed(hostile: tuple[Person, str], path: str) -> None:
    person, gang_id = hostile
    response = person.client.get(path.replace("GANG", gang_id))
    assert response.status_code == 200
    page = response.content.decode()
    assert "&lt;script&gt;" in page
    for alive in ("<script>alert", "<img", "onerror=alert(1)>"):
        assert alive not in page
    # Submitted option values are unchanged. Visible text is sanitized.
    assert "\u202e" not in re.sub(r' value="[^"]*"', "", page)
    assert "{{ 7|add:7 }}" in page or "%7B%7B" in page or "q=" in path, "not a template"
    # Every address on the page is one of ours.
    assert not re.findall(r'(?:href|src|action)="(?!/|#)[^"]*"', page)


def test_an_unknown_stage_still_prints(hostile: tuple[Person, str]) -> None:
    person, gang_id = hostile
    assert "Admission" in person.client.get(f"/gangs/{gang_id}/").content.decode()


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true", "HX-Target": "act-body"}])
@pytest.mark.parametrize("verb", ["suspend", HOSTILE])
def test_a_confirmation_never_trusts_its_address(
    hostile: tuple[Person, str], headers: dict[str, str], verb: str
) -> None:
    person, _ = hostile
    text = f"eu-train/batch/Job/research/{HOSTILE.replace('/', '')}/u/1"
    query = {"verb": verb, "target": text, "gang": HOSTILE, "reason": HOSTILE, "until": HOSTILE}
    for answer in (
        person.client.get("/actions/confirm/", query, headers=headers),
        person.client.post("/actions/confirm/", query, headers=headers),
    ):
        assert answer.status_code in (400, 404)
        assert "<script>alert" not in answer.content.decode()
        assert "<img" not in answer.content.decode()
