"""Lists of gangs: order, pages, filters, freshness, and who sees what."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence
from gangboard.pages.board.queries import count_by_health
from gangboard.pages.gang.queries import find_gangs_named
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import (
    CursorError,
    GangFilters,
    GangsPage,
    list_gangs,
)
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import (
    NOW,
    make_cluster,
    make_finding,
    make_gang,
    make_gangs,
    make_job,
    make_members,
    make_ref,
)

pytestmark = pytest.mark.django_db


def names(page: GangsPage) -> list[str]:
    return [row.name for row in page.rows]


def reader(cluster_id: int, namespace: str) -> Viewer:
    return Viewer(3, "rene", (Scope(cluster_id, namespace, "viewer"),))


class TestOrder:
    def test_the_default_order_is_severity_then_wait(self, owner: Viewer) -> None:
        cluster = make_cluster()
        make_gang(cluster, "runs", health="running")
        make_gang(cluster, "waits-long", since=NOW - timedelta(hours=5))
        make_gang(cluster, "waits-short", since=NOW - timedelta(minutes=5))
        make_gang(cluster, "blocked", health="blocked")
        make_gang(cluster, "failed", health="failed")
        make_gang(cluster, "unseen", health="unknown")
        page = list_gangs(viewer=owner, filters=GangFilters(), now=NOW)
        assert names(page) == [
            "failed",
            "blocked",
            "waits-long",
            "waits-short",
            "runs",
            "unseen",
        ]

    @pytest.mark.parametrize(
        ("ordering", "expected"),
        [
            ("name", ["a", "b", "c"]),
            ("-name", ["c", "b", "a"]),
            ("since", ["b", "c", "a"]),
            ("-accelerators", ["c", "a", "b"]),
            ("created_at", ["c", "a", "b"]),
        ],
    )
    def test_gangs_are_ordered_by_column(
        self, owner: Viewer, ordering: str, expected: list[str]
    ) -> None:
        cluster = make_cluster()
        hour = timedelta(hours=1)
        make_gang(cluster, "a", since=NOW - hour, accelerators=8, created_at=NOW - 2 * hour)
        make_gang(cluster, "b", since=NOW - 3 * hour, accelerators=0, created_at=NOW - hour)
        # Without a time of creation the first sight counts: three hours ago.
        make_gang(cluster, "c", since=NOW - 2 * hour, accelerators=64.5, created_at=None)
        filters = GangFilters(ordering=ordering)
        assert names(list_gangs(viewer=owner, filters=filters, now=NOW)) == expected

    def test_an_unknown_ordering_is_refused(self, owner: Viewer) -> None:
        with pytest.raises(ValueError, match="ordering must be one of"):
            list_gangs(viewer=owner, filters=GangFilters(ordering="user__password"), now=NOW)


class TestPages:
    @pytest.mark.parametrize("ordering", ["health", "name", "-since", "-accelerators", "priority"])
    @pytest.mark.parametrize("group_by", ["", "reason", "namespace", "cluster"])
    def test_pages_together_are_the_whole_list(
        self, owner: Viewer, ordering: str, group_by: str
    ) -> None:
        make_gangs(make_cluster("eu-train"), 20)
        make_gangs(make_cluster("lab", contact_at=NOW - timedelta(hours=1)), 7)
        filters = GangFilters(ordering=ordering, group_by=group_by)
        full_gangs = list_gangs(viewer=owner, filters=filters, limit=100, now=NOW)
        assert len(full_gangs.rows) == 27
        assert full_gangs.next_cursor is None
        read, cursor = [], None
        while True:
            page = list_gangs(viewer=owner, filters=filters, limit=4, cursor=cursor, now=NOW)
            read += [row.id for row in page.rows]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert read == [row.id for row in full_gangs.rows]

    def test_an_inserted_row_repeats_no_row_on_the_next_page(self, owner: Viewer) -> None:
        cluster = make_cluster()
        make_gangs(cluster, 6)
        filters = GangFilters(ordering="name")
        first = list_gangs(viewer=owner, filters=filters, limit=3, now=NOW)
        make_gang(cluster, "a-new-one")
        second = list_gangs(
            viewer=owner, filters=filters, limit=3, cursor=first.next_cursor, now=NOW
        )
        assert not set(names(first)) & set(names(second))

    @pytest.mark.parametrize(
        "cursor",
        ["x", "💥", "e30", "W10", "WyJuYW1lLGlkIixbXV0", "W1wibmFtZSxpZFwiXQ", "A" * 5000],
    )
    def test_a_foreign_cursor_is_refused(self, owner: Viewer, cursor: str) -> None:
        with pytest.raises(CursorError):
            list_gangs(viewer=owner, filters=GangFilters(ordering="name"), cursor=cursor, now=NOW)

    def test_a_cursor_of_another_order_is_refused(self, owner: Viewer) -> None:
        make_gangs(make_cluster(), 5)
        page = list_gangs(viewer=owner, filters=GangFilters(), limit=2, now=NOW)
        with pytest.raises(CursorError):
            list_gangs(
                viewer=owner,
                filters=GangFilters(ordering="name"),
                cursor=page.next_cursor,
                now=NOW,
            )


class TestFilters:
    @pytest.mark.parametrize(
        "filters",
        [
            GangFilters(cluster="us-train"),
            GangFilters(namespace="vision"),
            GangFilters(kind="Job"),
            GangFilters(api_group="batch"),
            GangFilters(health=("blocked", "failed")),
            GangFilters(code="no-nodes"),
            GangFilters(queue="gpu-other"),
            GangFilters(stage="admission"),
            GangFilters(q="WANTED"),
            GangFilters(q="vision want"),
            GangFilters(q="cordoned"),
        ],
    )
    def test_each_filter_returns_the_matching_gang(
        self, owner: Viewer, filters: GangFilters
    ) -> None:
        make_gang(make_cluster("eu-train"), "other")
        make_gang(
            make_cluster("us-train"),
            "the-wanted-one",
            namespace="vision",
            kind="Job",
            api_group="batch",
            health="blocked",
            code="no-nodes",
            queue="gpu-other",
            stage="admission",
            message="All nodes are cordoned.",
        )
        page = list_gangs(viewer=owner, filters=filters, now=NOW)
        assert names(page) == ["the-wanted-one"]

    def test_the_core_group_is_a_filter_value(self, owner: Viewer) -> None:
        cluster = make_cluster()
        make_gang(cluster, "a-jobset")
        make_gang(cluster, "a-pod", api_group="", kind="Pod")
        page = list_gangs(viewer=owner, filters=GangFilters(api_group=""), now=NOW)
        assert names(page) == ["a-pod"]

    @pytest.mark.parametrize(
        "q",
        [
            "llama-workers-1",
            "LLAMA-WORKERS-1-3",
            "workers-1-3 gpu-07",
            "gpu-prod no-room",
            "llama-group",
            "3 are free",
            "50%",
        ],
    )
    def test_a_gang_is_found_by_its_jobs_pods_nodes_and_groups(self, owner: Viewer, q: str) -> None:
        cluster = make_cluster("eu-train")
        make_gang(cluster, "llama-05", message="505 nodes of 507 are full.")
        detail = Detail(
            jobs=(make_job("llama-workers-1"),),
            members=make_members("llama-workers-1", 4, node="gpu-07"),
            groups=(make_ref("PodGroup", "llama-group"),),
        )
        make_gang(cluster, "llama", code="no-room", message="3 are free, 50% of 6.", detail=detail)
        assert names(list_gangs(viewer=owner, filters=GangFilters(q=q), now=NOW)) == ["llama"]

    def test_a_search_matches_all_words(self, owner: Viewer) -> None:
        make_gang(make_cluster(), "llama")
        page = list_gangs(viewer=owner, filters=GangFilters(q="llama nowhere"), now=NOW)
        assert page.rows == ()

    def test_succeeded_gangs_are_hidden_by_default(self, owner: Viewer) -> None:
        cluster = make_cluster()
        make_gang(cluster, "runs", health="running")
        make_gang(cluster, "done", health="succeeded")
        make_gang(cluster, "broke", health="failed")

        def names_matching(**filters: Any) -> list[str]:
            gang_filters = GangFilters(**filters)
            return names(list_gangs(viewer=owner, filters=gang_filters, now=NOW))

        assert names_matching(show_finished=False) == ["broke", "runs"]
        assert names_matching(show_finished=True) == ["broke", "runs", "done"]
        assert names_matching() == ["broke", "runs", "done"]
        assert names_matching(show_finished=False, health=("succeeded",)) == ["done"]

    def test_a_gang_of_a_deleted_owner_is_not_listed(self, owner: Viewer) -> None:
        make_gang(make_cluster(), "gone", gone_at=NOW)
        assert list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows == ()


class TestFreshness:
    def test_a_cluster_is_stale_after_30_seconds_and_health_is_kept(self, owner: Viewer) -> None:
        cluster = make_cluster(contact_at=NOW - timedelta(seconds=31))
        make_gang(cluster, health="running")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert (row.stale, row.health) == (True, "running")

    def test_a_cluster_is_live_at_29_seconds(self, owner: Viewer) -> None:
        make_gang(make_cluster(contact_at=NOW - timedelta(seconds=29)), health="running")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert (row.stale, row.health) == (False, "running")

    def test_health_is_unknown_after_two_minutes_with_the_last_health(self, owner: Viewer) -> None:
        cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
        make_gang(cluster, health="running", since=NOW - timedelta(days=2))
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert row.health == "unknown"
        assert row.last_health == "running"
        assert row.code == "not-observed"
        assert row.stale
        assert row.message == "Cluster lab has not been read for 4 min. It was running."
        assert row.since == NOW - timedelta(days=2), "an outage does not reset it"
        assert row.members_were, "old numbers are said to be old"
        assert row.bar.ready == 0

    def test_health_is_unknown_in_an_unread_cluster(self, owner: Viewer) -> None:
        cluster = make_cluster("lab", contact_at=None, problem="unreachable")
        make_gang(cluster, health="blocked")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert (row.health, row.stale) == ("unknown", True)
        assert row.message == "Cluster lab has never answered. It was blocked."
        Cluster.objects.update(problem="")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert row.message == "Cluster lab has not been read yet. It was blocked."

    def test_unknown_health_keeps_the_last_health(self, owner: Viewer) -> None:
        cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4), problem="timeout")
        make_gang(cluster, health="unknown", last_health="waiting")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert row.last_health == "waiting"
        assert row.message == "Cluster lab has not answered for 4 min. It was waiting."

    def test_filters_order_and_counts_agree_with_the_rows(self, owner: Viewer) -> None:
        silent = make_cluster("lab", contact_at=NOW - timedelta(hours=1))
        make_gang(silent, "was-failed", health="failed", code="failed")
        make_gang(silent, "was-done", health="succeeded", code="succeeded")
        make_gang(make_cluster("eu-train"), "runs", health="running", code="running")
        clusters = read_freshness(viewer=owner, now=NOW)
        tiles = count_by_health(viewer=owner, filters=GangFilters(), clusters=clusters)
        counts = {tile.face.word: tile.gangs for tile in tiles if tile.gangs}
        assert counts == {"running": 1, "unknown": 2}

        def names_matching(**filters: Any) -> list[str]:
            gang_filters = GangFilters(**filters)
            return sorted(names(list_gangs(viewer=owner, filters=gang_filters, now=NOW)))

        assert names_matching(health=("failed",)) == []
        assert names_matching(health=("unknown",)) == ["was-done", "was-failed"]
        assert names_matching(code="failed") == []
        assert names_matching(code="not-observed") == ["was-done", "was-failed"]
        full_gangs = list_gangs(viewer=owner, filters=GangFilters(show_finished=False), now=NOW)
        assert names(full_gangs) == ["runs", "was-failed"], (
            "finished ones do not come up in an outage"
        )

    def test_hidden_health_does_not_match_filters(self, owner: Viewer) -> None:
        silent = make_cluster("lab", contact_at=NOW - timedelta(hours=1))
        make_gang(silent, "x", message="All nodes are cordoned.")
        assert list_gangs(viewer=owner, filters=GangFilters(q="cordoned"), now=NOW).rows == ()

    def test_unreadable_members_have_no_numbers(self, owner: Viewer) -> None:
        make_gang(make_cluster(), health="unknown", code="not-observed")
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert not row.members_known

    def test_observed_at_is_the_last_contact(self, owner: Viewer) -> None:
        cluster = make_cluster(contact_at=NOW - timedelta(seconds=3))
        make_gang(cluster, observed_at=NOW - timedelta(hours=2))
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert row.observed_at == NOW - timedelta(seconds=3)


class TestAccess:
    def test_a_stranger_sees_nothing(self, stranger: Viewer) -> None:
        make_gang(make_cluster())
        assert list_gangs(viewer=stranger, filters=GangFilters(), now=NOW).rows == ()

    def test_a_reader_sees_one_namespace_of_one_cluster(self) -> None:
        eu, us = make_cluster("eu-train"), make_cluster("us-train")
        make_gang(eu, "mine")
        make_gang(eu, "not-my-namespace", namespace="vision")
        make_gang(us, "not-my-cluster")
        page = list_gangs(viewer=reader(eu.pk, "research"), filters=GangFilters(), now=NOW)
        assert names(page) == ["mine"]

    def test_sentences_contain_no_hidden_names(self) -> None:
        cluster = make_cluster()
        other_ref = make_ref("JobSet", "eval-92", namespace="team-x")
        own = make_ref("JobSet", "eval-9", namespace="research")
        node = make_ref("Node", "gpu-17", namespace="")
        finding = make_finding(
            evidence=(
                Evidence("holds the room", "eval-92", other_ref),
                Evidence("waits too", "eval-9", own),
                Evidence("cordoned", "gpu-17", node),
            )
        )
        make_gang(
            cluster,
            message="eval-9 and team-x/eval-92 hold half of what the other needs.",
            advice=["Suspend team-x / eval-92 or uncordon gpu-17.", "gpu-170 is another node."],
            detail=Detail(findings=(finding,)),
        )
        row = list_gangs(
            viewer=reader(cluster.pk, "research"), filters=GangFilters(), now=NOW
        ).rows[0]
        assert row.message == (
            "eval-9 and a gang you may not see hold half of what the other needs."
        )
        assert row.advice == ("gpu-170 is another node.",)
        assert row.next_step == "gpu-170 is another node."

    def test_advice_about_hidden_objects_is_omitted(self, owner: Viewer) -> None:
        """Owner of the gang's namespace, reader of the cluster, admin; a stranger sees no gang."""
        cluster = make_cluster()
        other_ref = make_ref("Job", "eval", namespace="team-x")
        named = make_finding(evidence=(Evidence(NAMED_IN_ADVICE, "eval", other_ref),))
        suspend = "Suspend Job team-x/eval (priority 0), which holds 16 GPUs: then the pod fits."
        make_gang(cluster, advice=[suspend], detail=Detail(findings=(named,)))
        full_viewer = Viewer(5, "wilma", (Scope(cluster.pk, "", "viewer"),))
        advice_by_name = {
            item.name: [
                row.advice for row in list_gangs(viewer=item, filters=GangFilters(), now=NOW).rows
            ]
            for item in (reader(cluster.pk, "research"), full_viewer, owner, Viewer(2, "stan", ()))
        }
        assert list(advice_by_name.values()) == [[()], [(suspend,)], [(suspend,)], []]

    def test_a_cluster_viewer_sees_the_names(self, owner: Viewer) -> None:
        other_ref = make_ref("JobSet", "eval-92", namespace="team-x")
        finding = make_finding(evidence=(Evidence("holds the room", "eval-92", other_ref),))
        make_gang(
            make_cluster(),
            message="team-x/eval-92 holds the room.",
            detail=Detail(findings=(finding,)),
        )
        row = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0]
        assert row.message == "team-x/eval-92 holds the room."


class TestSearchPrivacy:
    """A search must not answer whether a name that is not printed stands behind the stand-in."""

    @pytest.fixture
    def cluster(self) -> Cluster:
        cluster = make_cluster()
        other_ref = make_ref("JobSet", "secret", namespace="team-b")
        finding = make_finding(evidence=(Evidence("preempted by", "secret", other_ref),))
        make_gang(
            cluster,
            "llama",
            message="llama was preempted by team-b/secret.",
            code="preempted",
            title="Preempted",
            detail=Detail(findings=(finding,)),
        )
        return cluster

    def found(self, viewer: Viewer, q: str) -> list[str]:
        return names(list_gangs(viewer=viewer, filters=GangFilters(q=q), now=NOW))

    @pytest.mark.parametrize("q", ["secret", "sec", "team-b", "team-b/secret", "llama secret"])
    def test_a_search_ignores_redacted_names(self, cluster: Cluster, q: str) -> None:
        new_reader = reader(cluster.pk, "research")
        row = list_gangs(viewer=new_reader, filters=GangFilters(), now=NOW).rows[0]
        assert row.message == "llama was preempted by a gang you may not see."
        assert self.found(new_reader, q) == []
        clusters = read_freshness(viewer=new_reader, now=NOW)
        tiles = count_by_health(viewer=new_reader, filters=GangFilters(q=q), clusters=clusters)
        assert {tile.gangs for tile in tiles} == {0}

    @pytest.mark.parametrize("q", ["llama", "RESEARCH", "preempt", "JobSet", "eu-train"])
    def test_a_search_matches_unredacted_text(self, cluster: Cluster, q: str) -> None:
        assert self.found(reader(cluster.pk, "research"), q) == ["llama"]

    def test_a_cluster_viewer_searches_whole_sentences(
        self, owner: Viewer, cluster: Cluster
    ) -> None:
        keeper = Viewer(4, "kim", (Scope(cluster.pk, "", "viewer"),))
        assert self.found(keeper, "team-b/secret") == ["llama"]
        assert self.found(owner, "team-b/secret") == ["llama"]

    def test_access_to_one_cluster_does_not_extend_to_another(self, cluster: Cluster) -> None:
        us = make_cluster("us-train")
        both = Viewer(
            5, "kay", (Scope(us.pk, "", "viewer"), Scope(cluster.pk, "research", "viewer"))
        )
        make_gang(us, "mixtral", message="mixtral was preempted by team-b/secret.")
        assert self.found(both, "secret") == ["mixtral"]


class TestFindByName:
    """The way from the name of a pod or a node to a gang, for links in other tools."""

    @pytest.fixture
    def cluster(self) -> Cluster:
        cluster = make_cluster()
        make_gang(cluster, "llama", detail=Detail(members=make_members("llama-0", 2)))
        make_gang(cluster, "llama-0-10", namespace="vision")
        make_gang(cluster, "gone", gone_at=NOW, detail=Detail(members=make_members("gone-0", 1)))
        return cluster

    @pytest.mark.parametrize(
        ("name", "place", "expected"),
        [
            ("llama-0-1", {}, ["llama"]),
            ("Llama-0-1", {}, ["llama"]),
            ("llama-0", {}, []),
            ("gpu-01", {}, ["llama"]),
            ("gpu-01", {"namespace": "vision"}, []),
            ("gpu-01", {"cluster": "eu-train"}, ["llama"]),
            ("gpu-01", {"cluster": "us-train"}, []),
            ("research", {}, []),
            ("jobset", {}, []),
            ("gone-0-0", {}, []),
        ],
    )
    def test_only_whole_names_match(
        self, owner: Viewer, cluster: Cluster, name: str, place: dict[str, str], expected: list[str]
    ) -> None:
        ids = find_gangs_named(name, viewer=owner, **place)
        assert [Gang.objects.get(pk=item).name for item in ids] == expected

    def test_a_user_without_access_gets_no_match(self, cluster: Cluster) -> None:
        elsewhere = reader(cluster.pk, "vision")
        assert find_gangs_named("llama-0-1", viewer=elsewhere) == ()


class TestText:
    def test_controls_and_direction_marks_are_made_visible(self, owner: Viewer) -> None:
        make_gang(make_cluster(), message="one\ntwo\x1b[31m \u202eevil" + "x" * 5000)
        message = list_gangs(viewer=owner, filters=GangFilters(), now=NOW).rows[0].message
        assert message.startswith("one two␛[31m ‹U+202E›evilxxx")
        assert message.endswith("…")
        assert len(message) < 2100


def test_the_number_of_queries_does_not_grow_with_the_list(
    owner: Viewer, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_gangs(make_cluster(), 60)
    with django_assert_num_queries(2):
        list_gangs(viewer=owner, filters=GangFilters(), now=NOW)
