"""Groups that could not be looked at: not served, forbidden and empty are three states."""

from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.verdict import Scheduling
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.groups.queries import GroupFilters, GroupPage, group_detail, list_groups
from gangboard.plugins import registry
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.groups import groups_by_uid
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, ResourceState
from tests.factories import (
    NOW,
    PODGROUPS,
    WORKLOADS,
    make_cluster,
    make_gang,
    make_job,
    make_members,
    make_podgroup,
    make_resource,
)

pytestmark = pytest.mark.django_db

COMPOSITES = "compositepodgroups.scheduling.k8s.io"
OTHERS = [
    resource.key
    for api in registry.grouping_apis()
    for resource in api.resources
    if resource.key not in (PODGROUPS, WORKLOADS)
]
PODGANGS = "podgangs.scheduler.grove.io"
BLIND = ("forbidden", "failing", "unknown-version")


def make_site(name: str = "eu-train", **columns: Any) -> Cluster:
    """Make a 1.37 cluster with readable PodGroups and Workloads and without composite groups."""
    cluster = make_cluster(name, **columns)
    make_resource(cluster, PODGROUPS)
    make_resource(cluster, WORKLOADS)
    for absent in OTHERS:
        make_resource(cluster, absent, state="not-served", version="", listed_at=None)
    return cluster


def change(cluster: Cluster, resource: str = PODGROUPS, **columns: Any) -> None:
    ResourceState.objects.filter(cluster=cluster, resource=resource).update(**columns)


def read(viewer: Viewer, **filters: Any) -> GroupPage:
    return list_groups(viewer=viewer, filters=GroupFilters(**filters), now=NOW)


def notices(viewer: Viewer, **filters: Any) -> list[tuple[str, str, tuple[str, ...], str]]:
    hidden = read(viewer, **filters).unseen
    return [(item.cluster, item.state, item.kinds, item.sentence) for item in hidden]


def test_read_and_unserved_kinds_count_as_seen(owner: Viewer) -> None:
    cluster = make_site()
    make_podgroup(cluster)
    page = read(owner)
    assert page.unseen == ()
    assert [row.stale for row in page.rows] == [False]


def test_a_cluster_without_group_kinds_has_no_groups(owner: Viewer) -> None:
    cluster = make_site()
    ResourceState.objects.filter(cluster=cluster).update(state="not-served", listed_at=None)
    page = read(owner)
    assert (page.rows, page.unseen) == ((), ())


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (
            "forbidden",
            "The reader may not list PodGroups in cluster eu-train: the current ones are unknown.",
        ),
        (
            "unknown-version",
            "Cluster eu-train serves PodGroups in versions that this release cannot read: the current ones are unknown.",
        ),
        (
            "failing",
            "PodGroups of cluster eu-train cannot be read now; the list may be outdated.",
        ),
    ],
)
def test_unreadable_kinds_are_reported_and_old_rows_marked(
    owner: Viewer, state: str, sentence: str
) -> None:
    cluster, another = make_site(), make_site("us-train")
    make_podgroup(cluster, "old", uid="old")
    make_podgroup(another, "new")
    change(cluster, state=state)
    assert notices(owner) == [("eu-train", state, ("PodGroup",), sentence)]
    assert {row.name: row.stale for row in read(owner).rows} == {"old": True, "new": False}
    result = group_detail(viewer=owner, group_id="eu-train~old", now=NOW)
    assert result is not None
    assert result.stale
    freshness = read_freshness(viewer=owner, now=NOW)[cluster.pk]
    of_gang = groups_by_uid(["old"], viewer=owner, cluster=freshness)
    assert [row.stale for row in of_gang.rows] == [True]
    assert [item.sentence for item in of_gang.unseen] == [sentence]


@pytest.mark.parametrize("state", ["ok", "listing"])
def test_groups_may_be_missing_during_the_first_list(owner: Viewer, state: str) -> None:
    change(make_site(), state=state, listed_at=None)
    assert notices(owner) == [
        (
            "eu-train",
            "listing",
            ("PodGroup",),
            "PodGroups of cluster eu-train are being listed: some may be missing here.",
        )
    ]


def test_kinds_in_the_same_state_share_a_notice(owner: Viewer) -> None:
    cluster = make_site()
    ResourceState.objects.filter(cluster=cluster).update(state="forbidden")
    ((_, _, kinds, sentence),) = notices(owner)
    assert kinds == ("CompositePodGroup", "PodGang", "PodGroup", "Workload")
    assert sentence == (
        "The reader may not list CompositePodGroups, PodGangs, PodGroups and Workloads in cluster "
        "eu-train: the current ones are unknown."
    )


@pytest.mark.parametrize(
    ("owner_kind", "kinds"),
    [(("grove.io", "PodCliqueSet"), ["PodGang"]), (("batch", "Job"), [])],
)
def test_a_gang_lists_only_its_possible_group_kinds(
    owner: Viewer, owner_kind: tuple[str, str], kinds: list[str]
) -> None:
    cluster = make_site()
    change(cluster, PODGANGS, state="forbidden")
    freshness = read_freshness(viewer=owner, now=NOW)[cluster.pk]
    result = groups_by_uid([], viewer=owner, cluster=freshness, owner=owner_kind)
    assert [kind for item in result.unseen for kind in item.kinds] == kinds


def test_kinds_in_different_states_have_separate_notices(owner: Viewer) -> None:
    cluster = make_site()
    change(cluster, state="forbidden")
    change(cluster, WORKLOADS, state="failing")
    assert [(state, kinds) for _, state, kinds, _ in notices(owner)] == [
        ("forbidden", ("PodGroup",)),
        ("failing", ("Workload",)),
    ]


def test_notices_cover_only_the_requested_kinds(owner: Viewer) -> None:
    cluster = make_site()
    make_site("us-train")
    change(cluster, state="forbidden")
    assert notices(owner, cluster="us-train") == []
    assert notices(owner, kind="Workload") == []
    assert len(notices(owner, cluster="eu-train", kind="PodGroup", q="no such name")) == 1


@pytest.mark.parametrize(
    ("contact", "problem", "state", "sentence"),
    [
        (
            timedelta(minutes=3),
            "timeout",
            "silent",
            "Cluster eu-train does not answer: its groups are as last seen.",
        ),
        (
            timedelta(minutes=3),
            "",
            "silent",
            "Cluster eu-train is not being read: its groups are as last seen.",
        ),
        (
            None,
            "unreachable",
            "never",
            "Cluster eu-train has never answered: its groups are unknown.",
        ),
        (
            None,
            "",
            "never",
            "Cluster eu-train has not been read yet: its groups are unknown.",
        ),
    ],
)
def test_a_silent_cluster_has_its_own_notice(
    owner: Viewer, contact: timedelta | None, problem: str, state: str, sentence: str
) -> None:
    make_site(contact_at=None if contact is None else NOW - contact, problem=problem)
    ((_, message, kinds, text),) = notices(owner)
    assert (message, text) == (state, sentence)
    assert kinds == ("CompositePodGroup", "PodGang", "PodGroup", "Workload")


def test_a_live_unread_cluster_has_its_own_notice(owner: Viewer) -> None:
    make_cluster("young")
    ((_, state, _, sentence),) = notices(owner)
    assert (state, sentence) == (
        "not-looked",
        "CompositePodGroups, PodGangs, PodGroups and Workloads of cluster young have not been read yet.",
    )


def test_notices_omit_hidden_clusters(stranger: Viewer) -> None:
    cluster, another = make_site(), make_site("us-train")
    for item in (cluster, another):
        change(item, state="forbidden")
    assert notices(stranger) == []
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    assert [message[0] for message in notices(reader)] == ["eu-train"]


def test_a_page_of_groups_reads_unreadable_kinds_once(
    owner: Viewer, django_assert_num_queries: Any
) -> None:
    for name in ("eu-train", "us-train", "lab"):
        cluster = make_site(name)
        for index in range(5):
            make_podgroup(cluster, f"{name}-{index}")
    # Queries of clusters, groups, states and templates, then of gangs by uid, parent and text.
    with django_assert_num_queries(7):
        assert len(read(owner).rows) == 15


# On the page of a gang

PLAIN = "No PodGroup: pods are scheduled one by one."


def on_its_page(viewer: Viewer, cluster: Cluster, **columns: Any) -> tuple[str, list[str]]:
    """Return the notices on missing groups and on unreadable kinds."""
    gang = make_gang(cluster, **columns)
    detail = gang_detail(viewer=viewer, gang_id=gang.id, now=NOW)
    assert detail is not None
    return detail.no_groups, [item.sentence for item in detail.groups_unseen]


@pytest.mark.parametrize(
    ("modes", "sentence"),
    [
        (("pod-by-pod",), PLAIN),
        (("owned", "not-eligible"), PLAIN),
        (("pod-by-pod", "fallen-back"), "It has no group now."),
        (("opted-out",), "It has no group now."),
        (("brought-along",), "It has no group now."),
        (("gang",), "It has no group now."),
        (("unknown",), "It has no group now."),
        ((), "It has no group now."),
    ],
)
def test_a_gang_without_groups_is_plain_only_after_a_complete_read(
    owner: Viewer, modes: tuple[str, ...], sentence: str
) -> None:
    jobs = tuple(
        make_job(f"job-{index}", scheduling=Scheduling(mode, mode, ""))
        for index, mode in enumerate(modes)
    )
    assert on_its_page(owner, make_site(), detail=Detail(jobs=jobs)) == (sentence, [])


@pytest.mark.parametrize(("group", "sentence"), [("", PLAIN), ("gone", "It has no group now.")])
def test_bare_pods_are_scheduled_separately_unless_they_name_a_group(
    owner: Viewer, group: str, sentence: str
) -> None:
    detail = Detail(members=make_members("run", 2, group=group))
    assert on_its_page(owner, make_site(), detail=detail) == (sentence, [])


@pytest.mark.parametrize("state", BLIND)
def test_unreadable_groups_of_a_gang_are_not_zero(owner: Viewer, state: str) -> None:
    cluster = make_site()
    change(cluster, state=state)
    jobs = (make_job("run", scheduling=Scheduling("pod-by-pod", "Pod by pod", "")),)
    texts, hidden = on_its_page(owner, cluster, detail=Detail(jobs=jobs))
    assert texts == "No group of it is known."
    assert [item for item in hidden if "PodGroups" in item] == hidden != []


def test_groups_of_a_silent_cluster_are_last_known(owner: Viewer) -> None:
    cluster = make_site(contact_at=NOW - timedelta(minutes=4), problem="timeout")
    assert on_its_page(owner, cluster) == (
        "No group of it is known.",
        ["Cluster eu-train does not answer: its groups are as last seen."],
    )


def test_a_deleted_gang_has_no_groups(owner: Viewer) -> None:
    message = on_its_page(owner, make_site(), gone_at=NOW)
    assert message == ("None of its groups is left.", [])


def test_a_gang_with_groups_has_no_notice(owner: Viewer) -> None:
    cluster = make_site()
    group = make_podgroup(cluster)
    assert on_its_page(owner, cluster, detail=Detail(groups=(group.meta.ref,))) == ("", [])
