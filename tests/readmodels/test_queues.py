"""Queues with quotas and waiting gangs, by permission."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.quota import Flavor, FlavorAmount, QueueState
from gangboard.pages.gang.queue_waits import QueueWait, read_waits
from gangboard.pages.queues.queries import list_queues, queue_detail
from gangboard.pages.queues.rows import QueuePage, QueueRow
from gangboard.readmodels.cursors import CursorError
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.queue_visibility import serves_queues
from gangboard.readmodels.visible_queues import QueueFilters
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang
from tests.domain_objects import (
    a_meta,
    a_queue,
    ago,
    an_alias,
    shared_quota,
)
from tests.factories import NOW, make_cluster
from tests.stored_queues import GPU, KEYS, KUEUE, gang_of, gpus, has, serve, store, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster that serves Kueue, with ClusterQueue `gpu` reached from team-a and team-b."""
    new_cluster = make_cluster("east")
    serve(new_cluster)
    store(
        new_cluster,
        Flavor(a_meta(KUEUE, "ResourceFlavor", "h100", namespace=""), {}),
        an_alias("gpu-lq", to="gpu"),
        an_alias("gpu-lq", to="gpu", namespace="team-b", uid="uid-alias-b"),
    )
    return new_cluster


def page(viewer: Viewer, **filters: str) -> QueuePage:
    return list_queues(viewer=viewer, filters=QueueFilters(**filters), now=NOW)


def row(viewer: Viewer, name: str = "gpu") -> QueueRow:
    return next(item for item in page(viewer).rows if item.name == name)


def member_of(cluster: Cluster, namespace: str = "team-a") -> Viewer:
    return Viewer(3, "mia", (Scope(cluster.pk, namespace, "viewer"),))


# Quota


def test_a_queue_shows_used_reserved_and_borrowed_quota(cluster: Cluster, owner: Viewer) -> None:
    limits = {"borrowing_limit": Decimal(4), "lending_limit": Decimal(1)}
    store(cluster, a_queue("gpu", quotas=(gpus("8", "10", "2", reserved=Decimal(11), **limits),)))
    (quota,) = row(owner).quotas
    assert (
        quota.nominal_text,
        quota.used_text,
        quota.waiting_to_start,
        quota.borrowed_text,
    ) == (
        "8",
        "10",
        "1",
        "2",
    )
    assert quota.limits == "may borrow 4, lends up to 1"
    assert (quota.nominal, quota.reserved) == ("8", "11")
    assert quota.bar == (90.9, 100.0, 100.0)
    assert quota.borrowed_from == 72.7


def test_a_single_possible_lender_is_named(cluster: Cluster, owner: Viewer) -> None:
    store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(gpus("8", "3"),)),
        a_queue("other", cohort="all", quotas=(gpus("4", "6", "2"),)),
        shared_quota("all"),
    )
    lent = row(owner).quotas[0].lent
    assert lent is not None
    assert (lent.at_least, lent.at_most) == ("2", "2")
    assert row(owner).quotas[0].lent_text == "2"
    assert row(owner, "other").quotas[0].lent_text == ""


def test_two_possible_lenders_are_not_named(cluster: Cluster, owner: Viewer) -> None:
    """4 are borrowed; gpu has 5 to spare, more has 3, whose limit lets it lend 1: so gpu lent 3 or 4."""
    store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(gpus("8", "3"),)),
        a_queue("more", cohort="all", quotas=(gpus("3", "0", lending_limit=Decimal(1)),)),
        a_queue("taker", cohort="all", quotas=(gpus("0", "4", "4"),)),
    )
    assert row(owner).quotas[0].lent_text == "3 to 4"
    assert row(owner, "more").quotas[0].lent_text == "0 to 1"


def test_lending_stays_within_the_cohort(cluster: Cluster, owner: Viewer) -> None:
    store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(gpus("8"),)),
        a_queue("taker", cohort="others", quotas=(gpus("0", "4", "4"),)),
        a_queue("alone", quotas=(gpus("8"),)),
    )
    assert [row(owner, name).quotas[0].lent_text for name in ("gpu", "alone")] == ["", ""]
    assert row(owner).shares_with == 0


def test_the_cohorts_own_quota_is_lent(cluster: Cluster, owner: Viewer) -> None:
    store(
        cluster,
        a_queue("gpu", cohort="team", quotas=(gpus("2", "2"),)),
        a_queue("taker", cohort="team", quotas=(gpus("0", "5", "5"),)),
        shared_quota("team", cohort="all"),
        shared_quota("all", quotas=(gpus("6"),)),
    )
    assert row(owner).quotas[0].lent_text == ""
    assert row(owner).shared == ("team", "all")
    assert (row(owner).shared_kind, row(owner).shares_with) == ("Cohort", 1)


@pytest.mark.parametrize(
    ("state", "known"), [("ok", False), ("forbidden", True), ("failing", False)]
)
def test_a_missing_flavor_is_reported_if_flavors_are_readable(
    db: None, owner: Viewer, state: str, known: bool
) -> None:
    new_cluster = make_cluster("west")
    serve(new_cluster, ResourceFlavor=state)
    store(new_cluster, a_queue("gpu", quotas=(gpus("8"),)))
    assert row(owner).quotas[0].is_flavor_known is known


# Line


def test_waiting_gangs_are_ordered_by_priority_age_and_uid(cluster: Cluster, owner: Viewer) -> None:
    store(
        cluster,
        a_queue("gpu", pending=5),
        waits("young", in_line_since=ago(10)),
        waits("old", in_line_since=ago(900)),
        waits("urgent", in_line_since=ago(5), priority=100),
        waits("twin-b", in_line_since=ago(300)),
        waits("twin-a", in_line_since=ago(300)),
    )
    detail = queue_detail(viewer=owner, cluster="east", name="gpu", now=NOW)
    assert detail is not None
    line = detail.line or ()
    names = [item.name.removeprefix("jobset-").removesuffix("-3f2a1") for item in line]
    assert names == ["urgent", "old", "twin-a", "twin-b", "young"]
    assert [item.position for item in line] == [1, 2, 3, 4, 5]
    assert line[0].why == "Its priority is the highest: 100, the next has 0."
    assert [item.why for item in line[1:]] == [""] * 4
    assert len(row(owner).line or ()) == 3
    assert row(owner).more == 2


@pytest.mark.parametrize(
    ("remaining", "why"),
    [
        ([], "It is the only one in line."),
        ([{"in_line_since": ago(5)}], "Of those with priority 0 it has stood in line for longest."),
        ([{}], "Of those with priority 0 and its time its uid comes first."),
    ],
)
def test_the_first_gang_has_its_reason(
    cluster: Cluster, owner: Viewer, remaining: list[dict[str, Any]], why: str
) -> None:
    store(cluster, a_queue("gpu"), waits("a"), *(waits("b", **item) for item in remaining))
    first = row(owner).first
    assert first is not None
    assert first.why == why


def test_an_ineligible_gang_has_no_position(cluster: Cluster, owner: Viewer) -> None:
    gated = QueueMessage(QueueCode.QUEUE_EVALUATING, "admission is gated", is_out_of_line=True)
    store(
        cluster,
        a_queue("gpu"),
        waits("gated", priority=900, message=gated),
        waits("next"),
        waits("off", active=False),
        waits("variant", is_variant=True),
        has("runs", "4"),
    )
    result = row(owner)
    assert [(item.position, item.message) for item in result.line or ()] == [
        (1, ""), (None, "Admission is gated."),
    ]  # fmt: skip
    assert (result.in_line, result.kept_out) == (1, 1)


def test_positions_are_omitted_under_usage_based_ordering(cluster: Cluster, owner: Viewer) -> None:
    store(cluster, a_queue("gpu", is_by_usage=True), waits("a"), waits("b"))
    result = row(owner)
    assert [item.position for item in result.line or ()] == [None, None]
    assert result.first is None
    assert result.order[0].startswith("The LocalQueue with the lowest recent usage goes first")


def test_an_entry_without_an_owner_is_shown_by_its_own_name(
    cluster: Cluster, owner: Viewer
) -> None:
    lost = replace(waits("gone"), owner_uid="")
    store(cluster, a_queue("gpu"), lost)
    first = row(owner).first
    assert first is not None
    assert (first.name, first.gang, first.namespace) == (lost.meta.ref.name, None, "team-a")


def test_quota_holders_are_ordered_by_size(cluster: Cluster, owner: Viewer) -> None:
    small, large = has("small", "2"), has("large", "6", "team-b")
    store(cluster, a_queue("gpu"), small, large, has("elsewhere", "8", queue="other"))
    gang_of(cluster, large)
    detail = queue_detail(viewer=owner, cluster="east", name="gpu", now=NOW)
    assert detail is not None
    assert [(item.name, item.gang is not None) for item in detail.holders or ()] == [
        ("large", True), (small.meta.ref.name, False),
    ]  # fmt: skip


# Rights


def test_a_namespace_viewer_sees_own_queues_with_full_counts(
    cluster: Cluster,
) -> None:
    mine, theirs = waits("mine"), waits("theirs", "team-b", priority=5)
    store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(gpus("8", "3"),), pending=2),
        a_queue("secret", cohort="all", quotas=(gpus("0", "2", "2"),)),
        shared_quota("all"),
        an_alias("secret-lq", to="secret", namespace="team-b"),
        mine,
        theirs,
    )
    gang_of(cluster, mine), gang_of(cluster, theirs)
    mia = member_of(cluster)
    (row,) = page(mia).rows
    assert (row.name, row.pending, row.in_line) == ("gpu", 2, 2)
    assert row.quotas[0].lent_text == "2"
    assert (row.shared, row.shared_kind, row.shares_with) == ((), "", 1)
    first, second = row.line or ()
    assert (first.name, first.namespace, first.gang, first.is_hidden) == (
        "a gang you may not see", "", None, True,
    )  # fmt: skip
    assert first.priority == 5
    assert second.gang is not None
    assert [alias.namespace for alias in row.aliases] == ["team-a"]
    assert row.aliases_hidden == 1
    assert queue_detail(viewer=mia, cluster="east", name="secret", now=NOW) is None
    assert "theirs" not in str(page(mia))
    assert "team-b" not in str(page(mia))


def test_a_stranger_sees_no_queues(cluster: Cluster, stranger: Viewer) -> None:
    store(cluster, a_queue("gpu"), waits("a"))
    result = page(stranger)
    assert (result.rows, result.lost, result.serving) == ((), (), ())
    assert not serves_queues(stranger)


# Missing objects


def test_unserved_forbidden_and_empty_are_distinct(owner: Viewer) -> None:
    for name, state in (("none", "not-served"), ("shut", "forbidden"), ("bare", "ok")):
        serve(make_cluster(name), **dict.fromkeys(KEYS, state))
    result = page(owner)
    assert result.rows == ()
    assert result.serving == ("bare", "shut")
    (message,) = result.unseen
    assert (message.cluster, message.state) == ("shut", "forbidden")
    assert "ClusterQueues" in message.sentence
    assert serves_queues(owner)


def test_the_page_is_hidden_without_queue_support(owner: Viewer) -> None:
    serve(make_cluster("none"), **dict.fromkeys(KEYS, "not-served"))
    assert not serves_queues(owner)


def test_a_queue_without_readable_entries_has_only_numbers(owner: Viewer) -> None:
    new_cluster = make_cluster("east")
    serve(new_cluster, Workload="forbidden")
    store(new_cluster, a_queue("gpu", pending=4, quotas=(gpus("8", "3"),)))
    result = row(owner)
    assert (result.pending, result.line, result.in_line, result.first) == (4, None, None, None)
    detail = queue_detail(viewer=owner, cluster="east", name="gpu", now=NOW)
    assert detail is not None
    assert detail.holders is None


def test_lending_is_unknown_without_all_cohorts_and_queues(owner: Viewer) -> None:
    new_cluster = make_cluster("east")
    serve(new_cluster, Cohort="forbidden")
    store(new_cluster, a_queue("gpu", cohort="all", quotas=(gpus("8"),)))
    assert row(owner).quotas[0].lent is None
    assert row(owner).stale


def test_a_dangling_alias_is_reported(cluster: Cluster, owner: Viewer) -> None:
    (item, two) = page(owner).lost
    assert (item.kind, item.namespace, item.name, item.target) == (
        "LocalQueue", "team-a", "gpu-lq", "gpu",
    )  # fmt: skip
    assert two.namespace == "team-b"
    assert [lost.namespace for lost in page(member_of(cluster)).lost] == ["team-a"]
    store(cluster, a_queue("gpu"))
    assert page(owner).lost == ()


def test_cyclic_cohorts_admit_no_gangs(cluster: Cluster, owner: Viewer) -> None:
    store(
        cluster,
        a_queue("gpu", cohort="a", quotas=(gpus("8"),)),
        shared_quota("a", cohort="b"),
        shared_quota("b", cohort="a"),
    )
    result = row(owner)
    assert (result.face.word, result.cause) == ("inactive", "A and b are above each other.")
    assert [item.name for item in page(owner, state="inactive").rows] == ["gpu"]
    assert row(member_of(cluster)).cause == "Its parents form a circle."


def test_a_silent_cluster_shows_last_known_queues(
    owner: Viewer,
) -> None:
    silent_at = NOW - timedelta(minutes=5)
    with_queues = make_cluster("with", contact_at=silent_at)
    serve(with_queues)
    serve(make_cluster("without", contact_at=silent_at), **dict.fromkeys(KEYS, "not-served"))
    store(with_queues, a_queue("gpu"), an_alias("gpu-lq", to="gpu"), waits("a"))
    result = page(owner)
    assert [(item.cluster, item.state) for item in result.unseen] == [("with", "silent")]
    assert "as last seen" in result.unseen[0].sentence
    assert (result.rows[0].stale, result.rows[0].in_line) == (True, 1)


# Lists


def test_filters_by_cluster_state_and_words(cluster: Cluster, owner: Viewer) -> None:
    other_cluster = make_cluster("west")
    serve(other_cluster)
    store(cluster, a_queue("gpu", cohort="research"), a_queue("cpu", state=QueueState.STOPPED))
    store(other_cluster, a_queue("gpu"))

    def names(**filters: str) -> list[tuple[str, str]]:
        return [(row.cluster, row.name) for row in page(owner, **filters).rows]

    assert names() == [("east", "cpu"), ("east", "gpu"), ("west", "gpu")]
    assert names(cluster="west") == [("west", "gpu")]
    assert names(state="stopped") == [("east", "cpu")]
    assert names(q="RESEARCH gp") == [("east", "gpu")]
    assert names(q="team-b") == [("east", "gpu")]
    assert names(q="nothing") == []


def test_a_page_continues_after_the_last_row(cluster: Cluster, owner: Viewer) -> None:
    store(cluster, *(a_queue(f"q{number}") for number in range(5)))
    observed, cursor = [], None
    while True:
        queues = list_queues(viewer=owner, filters=QueueFilters(), limit=2, cursor=cursor, now=NOW)
        observed += [row.name for row in queues.rows]
        if queues.next_cursor is None:
            break
        cursor = queues.next_cursor
    assert observed == ["q0", "q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("cursor", ["x", "é", "eyJ9", "W10", "WyJ0ZXh0cyIsWzFdXQ", "a" * 5000])
def test_a_foreign_cursor_is_refused(cluster: Cluster, owner: Viewer, cursor: str) -> None:
    with pytest.raises(CursorError):
        list_queues(viewer=owner, filters=QueueFilters(), cursor=cursor, now=NOW)


def test_the_number_of_queries_does_not_grow_with_the_list(
    cluster: Cluster, owner: Viewer, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        entry = waits(f"run-{number}", queue=f"lq-{number}")
        store(cluster, a_queue(f"q{number}"), an_alias(f"lq-{number}", to=f"q{number}"), entry)
        gang_of(cluster, entry)
    with django_assert_max_num_queries(8):
        assert len(page(owner).rows) == 20


# A gang that waits


def wait_of(viewer: Viewer, gang: Gang) -> QueueWait:
    cluster = read_freshness(viewer=viewer, now=NOW)[gang.cluster_id]
    (wait,) = read_waits(gang, (gang.uid,), (), viewer=viewer, cluster=cluster)
    return wait


LACKS = QueueMessage(
    QueueCode.WAITING_FOR_QUOTA, "2 more", lacks=(FlavorAmount("h100", GPU, Decimal(2)),)
)


def test_a_waiting_gang_has_the_queue_ahead_and_the_quota_holders(
    cluster: Cluster, owner: Viewer
) -> None:
    mine = waits("mine", message=LACKS)
    before, large, another = (
        waits("before", priority=9),
        has("large", "6"),
        has("small", "2", "team-b", "other"),
    )
    store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(gpus("4", "6", "2"),)),
        a_queue("other", cohort="all", quotas=(gpus("4", "2"),)),
        a_queue("apart", quotas=(gpus("4", "4"),)),
        has("apart", "4", queue="apart"),
        *(mine, before, large, another, waits("after", in_line_since=ago(5))),
    )
    gang = gang_of(cluster, mine)
    for entry in (before, large, another):
        gang_of(cluster, entry)
    wait = wait_of(owner, gang)
    assert (wait.queue, wait.position, wait.in_line) == ("gpu", 2, 3)
    assert [holder.name for holder in wait.ahead] == ["before"]
    (lack,) = wait.lacks
    assert (lack.amount_text, lack.shared_text) == ("2 GPUs", "8 of 8")
    assert lack.own_text == "6 of 4 GPUs used (2 borrowed)"
    assert [(holder.name, holder.amounts[0].exact) for holder in lack.holders] == [
        ("large", "6"),
        ("small", "2"),
    ]
    assert lack.hidden == 0


def test_a_namespace_viewer_sees_sums_of_hidden_gangs(cluster: Cluster) -> None:
    mine = waits("mine", message=LACKS)
    store(
        cluster,
        a_queue("gpu", quotas=(gpus("8", "8"),)),
        *(
            mine,
            waits("first", "team-b", priority=9),
            has("x", "5", "team-b"),
            has("y", "3", "team-b"),
        ),
    )
    wait = wait_of(member_of(cluster), gang_of(cluster, mine))
    assert [item.name for item in wait.ahead] == ["a gang you may not see"]
    (lack,) = wait.lacks
    assert (lack.holders, lack.hidden, lack.hidden_text) == ((), 2, "8 GPUs")
    assert "team-b" not in str(wait)


def test_a_gang_under_usage_based_ordering_is_in_line_without_a_position(
    cluster: Cluster, owner: Viewer
) -> None:
    mine, young, old = waits("mine"), waits("young", in_line_since=ago(5)), waits("old", priority=9)
    store(cluster, a_queue("gpu", is_by_usage=True), mine, young, old)
    wait = wait_of(owner, gang_of(cluster, mine))
    assert (wait.position, wait.is_eligible, wait.tells_places, wait.in_line) == (
        None,
        True,
        False,
        3,
    )
    assert (wait.ahead, wait.ahead_more) == ((), 0)
    assert {item.name.split("-")[1] for item in wait.others} == {"young", "old"}


@pytest.mark.parametrize("is_by_usage", [False, True])
def test_a_gated_gang_is_not_in_line(cluster: Cluster, owner: Viewer, is_by_usage: bool) -> None:
    message = QueueMessage(QueueCode.ADMISSION_GATED, "Admission is gated", is_out_of_line=True)
    mine = waits("mine", message=message)
    store(cluster, a_queue("gpu", is_by_usage=is_by_usage), mine, waits("other"))
    wait = wait_of(owner, gang_of(cluster, mine))
    assert (wait.position, wait.is_eligible, wait.in_line) == (None, False, 1)


@pytest.mark.parametrize(
    "fields", [{"has_quota": True, "admitted": True, "admitted_by": "gpu"}, {"active": False}]
)
def test_a_running_gang_has_no_queue_position(
    cluster: Cluster, owner: Viewer, fields: dict[str, Any]
) -> None:
    entry = waits("mine", **fields)
    store(cluster, a_queue("gpu"), entry)
    gang = gang_of(cluster, entry)
    freshness = read_freshness(viewer=owner, now=NOW)[cluster.pk]
    assert read_waits(gang, (gang.uid,), (), viewer=owner, cluster=freshness) == ()


def test_an_entry_of_another_namespace_is_ignored(cluster: Cluster, owner: Viewer) -> None:
    store(cluster, a_queue("gpu"), mine := waits("mine"))
    gang = gang_of(cluster, mine)
    alien = waits("alien", "team-b", in_line_since=ago(900))
    store(cluster, replace(alien, owner_uid=gang.uid))
    freshness = read_freshness(viewer=owner, now=NOW)[cluster.pk]
    result = read_waits(gang, (gang.uid,), (), viewer=owner, cluster=freshness)
    assert [item.entry for item in result] == [mine.meta.ref.name]
    line = row(owner).line
    assert line is not None
    assert [item.gang and item.gang.id for item in line] == [None, gang.pk]


def test_the_position_is_unknown_without_queue_or_entries(
    owner: Viewer,
) -> None:
    new_cluster = make_cluster("east")
    serve(new_cluster, Workload="forbidden")
    entry = waits("mine")
    store(new_cluster, a_queue("gpu"), an_alias("gpu-lq", to="gpu"), entry)
    gang = gang_of(new_cluster, entry)
    freshness = read_freshness(viewer=owner, now=NOW)[new_cluster.pk]
    assert read_waits(gang, (gang.uid,), (), viewer=owner, cluster=freshness) == ()
