"""Groups as stored, and the gang of each."""

from typing import Any

import pytest

from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import Controller, Meta
from gangboard.domain.owner import Owner
from gangboard.pages.groups.queries import (
    GroupFilters,
    GroupWithGangRow,
    group_detail,
    list_groups,
)
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from tests.factories import (
    NOW,
    WORKLOADS,
    make_cluster,
    make_gang,
    make_podgroup,
    make_ref,
    store_object,
)

pytestmark = pytest.mark.django_db


def rows(viewer: Viewer, **filters: Any) -> tuple[GroupWithGangRow, ...]:
    return list_groups(viewer=viewer, filters=GroupFilters(**filters), now=NOW).rows


def make_workload(cluster: Any, quorum: int = 6) -> None:
    ref = make_ref("Workload", "training", group="scheduling.k8s.io")
    template = GroupTemplate("workers", Policy.GANG, quorum)
    store_object(
        cluster, WORKLOADS, Group(Meta("v1beta1", ref, "1", 1, NOW), templates=(template,))
    )


def test_a_group_is_shown_with_its_own_quorum_and_its_templates(owner: Viewer) -> None:
    cluster = make_cluster()
    make_podgroup(cluster)
    make_workload(cluster, quorum=6)
    workload, group = sorted(rows(owner), key=lambda row: row.kind, reverse=True)
    assert (group.quorum, group.template_quorum) == (8, 6)
    assert group.placed_face is not None
    assert group.placed_face.label == "Not placed"
    assert workload.templates[0].quorum == 6
    assert workload.placed_face is None, "a Workload is never placed itself"


def test_a_group_without_its_workload_has_no_template_status(owner: Viewer) -> None:
    make_podgroup(make_cluster())
    assert rows(owner)[0].template_quorum is None


def test_an_unknown_policy_is_quoted(owner: Viewer) -> None:
    make_podgroup(make_cluster(), policy=Policy.UNKNOWN, policy_text='{"elastic":{}}', quorum=None)
    (row,) = rows(owner)
    assert (row.policy_label, row.policy_text) == ("not known to this release", '{"elastic":{}}')


def test_the_gang_of_a_group_of_a_child_job_is_the_jobset(owner: Viewer) -> None:
    cluster = make_cluster()
    gang = make_gang(cluster, "llama", uid="jobset-uid")
    job_ref = make_ref("Job", "llama-workers-0", group="batch", uid="job-uid")
    job = Owner(
        Meta(
            "v1",
            job_ref,
            "1",
            1,
            NOW,
            controller=Controller("jobset.x-k8s.io", "JobSet", "llama", "jobset-uid"),
            owner_uids=("jobset-uid",),
        )
    )
    store_object(cluster, "jobs.batch", job)
    make_podgroup(cluster, owner_uids=("job-uid",))
    (row,) = rows(owner)
    assert row.gang is not None
    assert (row.gang.id, row.gang.name) == (gang.id, "llama")


def test_a_user_made_group_is_linked_to_its_gang(owner: Viewer) -> None:
    cluster = make_cluster()
    group = make_podgroup(cluster)
    make_gang(cluster, "other")
    make_gang(cluster, "llama", detail=Detail(groups=(group.meta.ref,)))
    (row,) = rows(owner)
    assert row.gang is not None
    assert row.gang.name == "llama"


def test_policy_and_quorum_have_short_labels(owner: Viewer) -> None:
    cluster = make_cluster()
    make_workload(cluster, quorum=6)
    make_podgroup(cluster, "llama-workers-0")
    texts = {row.kind: (row.policy_short, row.differs) for row in rows(owner)}
    assert texts == {"Workload": ("gang, quorum 6", False), "PodGroup": ("gang, quorum 8", True)}


def test_groups_are_filtered(owner: Viewer) -> None:
    eu, us = make_cluster("eu-train"), make_cluster("us-train")
    make_podgroup(eu, "one")
    make_podgroup(us, "two", namespace="vision")
    make_workload(eu)
    assert [row.name for row in rows(owner, cluster="us-train")] == ["two"]
    assert [row.name for row in rows(owner, namespace="vision")] == ["two"]
    assert [row.name for row in rows(owner, kind="Workload")] == ["training"]
    assert [row.name for row in rows(owner, q="ONE")] == ["one"]


def test_pages_together_are_the_whole_list(owner: Viewer) -> None:
    cluster = make_cluster()
    for index in range(7):
        make_podgroup(cluster, f"group-{index}")
    read: list[str] = []
    cursor = None
    while True:
        page = list_groups(viewer=owner, filters=GroupFilters(), limit=3, cursor=cursor, now=NOW)
        read += [row.name for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert read == [f"group-{index}" for index in range(7)]


def test_groups_follow_permissions(owner: Viewer, stranger: Viewer) -> None:
    cluster = make_cluster()
    make_podgroup(cluster, uid="abc")
    other_viewer = Viewer(3, "rene", (Scope(cluster.pk, "vision", "viewer"),))
    group_id = "eu-train~abc"
    result = group_detail(viewer=owner, group_id=group_id, now=NOW)
    assert result is not None
    assert result.id == group_id
    for viewer in (stranger, other_viewer):
        assert rows(viewer) == ()
        assert group_detail(viewer=viewer, group_id=group_id, now=NOW) is None
    for wrong in ("", "~", "eu-train~", "a\x00~b", "no-such~abc"):
        assert group_detail(viewer=owner, group_id=wrong, now=NOW) is None
