"""Queues of a scheduler: they have no flavors, its gangs wait in them, and no object tells who is next."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.quota import Queue, QueueLevel, Quota, QuotaTerm
from gangboard.pages.gang.queue_waits import QueueWait, queue_of_gang, read_waits
from gangboard.pages.queues.queries import list_queues, queue_detail
from gangboard.pages.queues.quotas import quota_rows
from gangboard.pages.queues.rows import QueueRow
from gangboard.polling.gang_rows import _queue_of_groups
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.visible_queues import QueueFilters
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster, Gang, ResourceState
from tests.domain_objects import a_queue, ago, an_alias
from tests.factories import NOW, make_cluster, make_gang
from tests.stored_queues import (
    GPU,
    KAI,
    KUEUE,
    VOLCANO,
    in_queue,
    scheduler_queue,
    serve_scheduler,
    store,
)

QUEUE = Queue(
    Meta("v1", ObjectRef("toys.example", "Queue", "", "research", "q-1"), "1", 1, None),
    QueueLevel.QUEUE,
    quotas=(
        Quota("", "nvidia.com/gpu", Decimal(4)),
        Quota("l4", "nvidia.com/gpu", Decimal(4)),
    ),
)


def test_only_a_named_flavor_can_be_missing() -> None:
    without, named = quota_rows(QUEUE, None, set())
    assert (without.is_flavor_known, named.is_flavor_known) == (True, False)


def _facts(*queues: str) -> Any:
    return cast("Any", SimpleNamespace(groups=[SimpleNamespace(queue=item) for item in queues]))


def test_a_gang_is_in_the_queue_of_its_groups() -> None:
    assert _queue_of_groups(_facts("research", "research", "")) == "research"
    assert _queue_of_groups(_facts("research", "ads")) == ""
    assert _queue_of_groups(_facts()) == ""


SYSTEMS = pytest.mark.parametrize("system", [KAI, VOLCANO])


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster("east")


def set_state(cluster: Cluster, resource: str, state: str) -> None:
    ResourceState.objects.filter(cluster=cluster, resource=resource).update(state=state)


def row(viewer: Viewer, name: str = "research") -> QueueRow:
    page = list_queues(viewer=viewer, filters=QueueFilters(), now=NOW)
    return next(item for item in page.rows if item.name == name)


@SYSTEMS
def test_waiting_gangs_are_oldest_first_without_positions(
    cluster: Cluster, owner: Viewer, system: str
) -> None:
    serve_scheduler(cluster, system)
    scheduler_queue(cluster, system, "research")
    in_queue(cluster, system, "research", "young", age=60, priority_class="train")
    in_queue(cluster, system, "research", "old", age=900)
    in_queue(cluster, system, "elsewhere", "other")
    result = row(owner)
    assert result.line is not None
    assert [
        (amount.name, amount.position, amount.priority, amount.priority_class)
        for amount in result.line
    ] == [
        ("old", None, None, ""),
        ("young", None, None, "train"),
    ]
    assert result.line[0].since == ago(900)
    assert [amount.text for amount in result.line[0].amounts] == ["8 GPUs"]
    assert (result.waiting, result.in_line, result.kept_out, result.unknown) == (2, 2, 0, 0)
    assert not result.tells_places
    assert result.order


@pytest.mark.parametrize(
    ("columns", "waits", "has_nodes"),
    [
        ({"scheduled": 8, "ready": 8, "stage": Stage.RUN, "health": Health.RUNNING}, False, True),
        ({"scheduled": 8, "stage": Stage.START, "health": Health.STARTING}, False, True),
        ({"scheduled": 6, "stage": Stage.PLACEMENT, "health": Health.DEGRADED}, True, True),
        ({"scheduled": 7, "stage": Stage.RUN, "health": Health.DEGRADED}, True, True),
        ({"scheduled": 6, "held": 2, "stage": Stage.RUN, "health": Health.SUSPENDED}, False, True),
        ({"scheduled": 8, "succeeded": 8, "stage": Stage.RUN, "health": Health.SUCCEEDED}, False, False),
        ({"stage": Stage.ADMISSION, "health": Health.SUSPENDED}, False, False),
    ],
)  # fmt: skip
def test_waiting_and_placed_gangs_are_separated(
    cluster: Cluster, owner: Viewer, columns: dict[str, Any], waits: bool, has_nodes: bool
) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    gang = in_queue(cluster, KAI, "research", "run", **columns)
    result = queue_detail(viewer=owner, cluster="east", name="research", now=NOW)
    assert result is not None
    assert result.waiting == int(waits)
    assert result.placed == int(has_nodes)
    assert [item.name for item in result.holders or ()] == ["run"] * has_nodes
    assert len(waits_of(owner, gang)) == int(waits)


def test_usage_counts_only_fully_placed_gangs(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    running: dict[str, Any] = {"stage": Stage.RUN, "health": Health.RUNNING}
    in_queue(cluster, KAI, "research", "whole", scheduled=8, **running)
    in_queue(cluster, KAI, "research", "part", scheduled=6, age=900, **running)
    result = queue_detail(viewer=owner, cluster="east", name="research", now=NOW)
    assert result is not None
    assert result.holders is not None
    holders = {holder.name: (len(holder.amounts), holder.message) for holder in result.holders}
    assert holders == {"whole": (1, ""), "part": (0, "6 of 8 pods have a node.")}


def test_a_blocked_gang_is_ineligible_and_an_unknown_one_neither(
    cluster: Cluster, owner: Viewer
) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    in_queue(cluster, KAI, "research", "never", health=Health.BLOCKED, code="exceeds-quota")
    in_queue(cluster, KAI, "research", "unseen", health=Health.UNKNOWN, code="not-observed")
    result = row(owner)
    assert (result.waiting, result.in_line, result.kept_out, result.unknown) == (1, 0, 1, 1)


@pytest.mark.parametrize(
    ("phase", "text"), [("Pending", "Pending"), ("Inqueue", "Inqueue"), ("", "not looked at")]
)
def test_a_volcano_queue_shows_its_phase(
    cluster: Cluster, owner: Viewer, phase: str, text: str
) -> None:
    serve_scheduler(cluster, VOLCANO)
    scheduler_queue(cluster, VOLCANO, "research", pending=7)
    in_queue(cluster, VOLCANO, "research", "run", phase=phase)
    (place,) = row(owner).line or ()
    assert text in place.message
    # Its own count is of PodGroups that it has not let in.
    assert (row(owner).waiting, row(owner).pending) == (1, 7)


def test_a_gang_with_many_groups_waits_once(cluster: Cluster, owner: Viewer) -> None:
    """KAI makes a PodGroup for each pod of a Job."""
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    owner_ref = ObjectRef("batch", "Job", "team-a", "run", "uid-job")
    for name in ("run-0", "run-1"):
        in_queue(cluster, KAI, "research", name, owner_uids=(owner_ref.uid,)).delete()
    make_gang(cluster, "run", uid=owner_ref.uid, namespace="team-a", kind="Job", scheduled=0)
    assert [item.name for item in row(owner).line or ()] == ["run"]


@pytest.mark.parametrize("state", ["forbidden", "not-looked", "listing"])
def test_unreadable_groups_do_not_mean_an_empty_queue(
    cluster: Cluster, owner: Viewer, state: str
) -> None:
    serve_scheduler(cluster, KAI, groups=state)
    scheduler_queue(cluster, KAI, "research")
    page = list_queues(viewer=owner, filters=QueueFilters(), now=NOW)
    assert (page.rows[0].line, page.rows[0].waiting, page.rows[0].placed) == (None, None, None)
    assert page.unseen


def test_groups_without_queues_cause_no_notice(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI, groups="forbidden")
    set_state(cluster, f"queues.{KAI}", "not-served")
    assert list_queues(viewer=owner, filters=QueueFilters(), now=NOW).unseen == ()


def test_a_namespace_viewer_sees_the_queues_of_own_gangs(cluster: Cluster) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    scheduler_queue(cluster, KAI, "secret")
    in_queue(cluster, KAI, "research", "mine")
    in_queue(cluster, KAI, "research", "theirs", namespace="team-b", age=900)
    in_queue(cluster, KAI, "secret", "hidden", namespace="team-b")
    member = Viewer(3, "mia", (Scope(cluster.pk, "team-a", "viewer"),))
    (row,) = list_queues(viewer=member, filters=QueueFilters(), now=NOW).rows
    assert row.name == "research"
    assert [item.name for item in row.line or ()] == ["a gang you may not see", "mine"]
    assert ([item.name for item in row.namespaces], row.namespaces_hidden) == (["team-a"], 1)


@SYSTEMS
def test_a_scheduler_queue_is_open_to_every_namespace(
    cluster: Cluster, owner: Viewer, system: str
) -> None:
    serve_scheduler(cluster, system)
    scheduler_queue(cluster, system, "research")
    in_queue(cluster, system, "research", "mine")
    in_queue(
        cluster, system, "research", "done", namespace="team-b", scheduled=8, succeeded=8,
        health=Health.SUCCEEDED, stage=Stage.RUN,
    )  # fmt: skip
    result = row(owner)
    assert [(item.name, item.gangs) for item in result.namespaces] == [("team-a", 1), ("team-b", 0)]
    assert result.reached_by.startswith("Any namespace can name this queue")


def test_a_kueue_queue_needs_an_alias_and_marks_unknown_fields(
    cluster: Cluster, owner: Viewer
) -> None:
    serve_scheduler(cluster, KAI)
    store(cluster, a_queue("research"))
    assert row(owner).reached_by == "No LocalQueue leads to it, so nothing can be submitted to it."
    set_state(cluster, f"localqueues.{KUEUE}", "forbidden")
    assert "unknown" in row(owner).reached_by
    set_state(cluster, f"localqueues.{KUEUE}", "ok")
    store(cluster, an_alias("lq", to="research"))
    assert row(owner).reached_by == ""


def test_each_system_has_its_own_terms(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI)
    set_state(cluster, f"queues.{VOLCANO}", "ok")
    terms = (QuotaTerm("limit", Decimal(8)), QuotaTerm("over-quota weight", Decimal(2), True))
    quota = Quota("", GPU, Decimal(4), used=Decimal(6), borrowed=Decimal(2), terms=terms)
    scheduler_queue(cluster, KAI, "kai", quota, Quota("", "cpu"))
    scheduler_queue(
        cluster, VOLCANO, "volcano", Quota("", GPU, Decimal(8)), Quota("", "memory"),
        terms=(QuotaTerm("weight", Decimal(3), True),),
    )  # fmt: skip
    store(cluster, a_queue("kueue", quotas=(Quota("h100", GPU, Decimal(8)),)))
    texts = {
        name: [(term.nominal_text, term.nominal_word) for term in row(owner, name).quotas]
        for name in ("kai", "volcano", "kueue")
    }
    assert texts == {
        "kai": [("4", "quota"), ("", "used, quota unlimited")],
        "volcano": [("8", "capability"), ("", "used, no capability set")],
        "kueue": [("8", "nominal quota")],
    }
    of_gpus = row(owner, "kai").quotas[0]
    assert (of_gpus.borrowed_word, of_gpus.limits) == ("over quota", "limit 8, over-quota weight 2")
    assert [(term.name, term.text) for term in row(owner, "volcano").terms] == [("weight", "3")]


def test_usage_above_quota_is_not_lent(cluster: Cluster, owner: Viewer) -> None:
    """KAI lends it from the capacity of the cluster beyond all quotas."""
    serve_scheduler(cluster, KAI)
    parent = Queue(QUEUE.meta, QueueLevel.SHARED).name._replace(group=KAI, name="root")
    scheduler_queue(cluster, KAI, "research", Quota("", GPU, Decimal(4)), parent=parent)
    taken = Quota("", GPU, Decimal(1), used=Decimal(3), reserved=Decimal(3), borrowed=Decimal(2))
    scheduler_queue(cluster, KAI, "ads", taken, parent=parent)
    assert (row(owner).quotas[0].lent_text, row(owner).quotas[0].lent) == ("", None)


def test_a_gang_links_to_its_queue(cluster: Cluster) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    gang = in_queue(cluster, KAI, "research", "mine")
    lost = in_queue(cluster, KAI, "gone", "lost")
    assert queue_of_gang(gang, unpack_detail(bytes(gang.detail)).groups) == "research"
    assert queue_of_gang(lost, unpack_detail(bytes(lost.detail)).groups) == ""


def test_the_groups_decide_between_queues_of_the_same_name(cluster: Cluster) -> None:
    """A LocalQueue and a queue of Volcano may both be called default."""
    serve_scheduler(cluster, VOLCANO)
    scheduler_queue(cluster, VOLCANO, "default")
    store(cluster, a_queue("gpu"), an_alias("default", to="gpu"))
    gang = in_queue(cluster, VOLCANO, "default", "mine")
    assert queue_of_gang(gang, unpack_detail(bytes(gang.detail)).groups) == "default"
    assert queue_of_gang(gang, ()) == "gpu"


# A gang that waits


def waits_of(viewer: Viewer, gang: Gang) -> tuple[QueueWait, ...]:
    gang.refresh_from_db()
    cluster = read_freshness(viewer=viewer, now=NOW)[gang.cluster_id]
    groups = unpack_detail(bytes(gang.detail)).groups
    return read_waits(gang, (gang.uid,), groups, viewer=viewer, cluster=cluster)


@SYSTEMS
def test_a_gang_names_the_others_that_wait_in_its_queue(
    cluster: Cluster, owner: Viewer, system: str
) -> None:
    serve_scheduler(cluster, system)
    scheduler_queue(cluster, system, "research")
    mine = in_queue(cluster, system, "research", "mine", priority_class="train")
    in_queue(cluster, system, "research", "young", age=60)
    in_queue(cluster, system, "research", "old", age=900)
    in_queue(cluster, system, "research", "never", health=Health.BLOCKED, code="exceeds-quota")
    in_queue(cluster, system, "research", "unseen", health=Health.UNKNOWN, code="not-observed")
    in_queue(cluster, system, "elsewhere", "other")
    running: dict[str, Any] = {"stage": Stage.RUN, "health": Health.RUNNING, "scheduled": 8}
    in_queue(cluster, system, "research", "runs", **running)
    (wait,) = waits_of(owner, mine)
    assert (wait.queue, wait.kind, wait.entry) == ("research", "Queue", "mine")
    assert (wait.position, wait.is_eligible, wait.tells_places) == (None, True, False)
    assert (wait.in_line, wait.unknown, wait.ahead, wait.lacks) == (3, 1, (), ())
    assert [(other.name, other.position) for other in wait.others] == [
        ("old", None),
        ("young", None),
    ]
    assert (wait.priority, wait.priority_class) == (None, "train")
    assert [amount.text for amount in wait.asks] == ["8 GPUs"]


def test_a_gang_that_waits_alone_names_nobody(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    (wait,) = waits_of(owner, in_queue(cluster, KAI, "research", "mine"))
    assert (wait.in_line, wait.others, wait.others_more) == (1, (), 0)


def test_the_others_are_limited_to_the_oldest(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    for number in range(7):
        in_queue(cluster, KAI, "research", f"run-{number}", age=900 - number)
    (wait,) = waits_of(owner, in_queue(cluster, KAI, "research", "mine", age=2000))
    assert [other.name for other in wait.others] == [f"run-{number}" for number in range(5)]
    assert (wait.others_more, wait.in_line) == (2, 8)


def test_unreadable_groups_or_a_missing_queue_show_no_wait(cluster: Cluster, owner: Viewer) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    mine, lost = in_queue(cluster, KAI, "research", "mine"), in_queue(cluster, KAI, "no", "lost")
    assert (len(waits_of(owner, mine)), waits_of(owner, lost)) == (1, ())
    set_state(cluster, f"podgroups.{KAI}", "forbidden")
    assert waits_of(owner, mine) == ()


def test_a_namespace_viewer_gets_others_without_names(cluster: Cluster) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    mine = in_queue(cluster, KAI, "research", "mine")
    in_queue(cluster, KAI, "research", "theirs", namespace="team-b", age=900)
    (wait,) = waits_of(Viewer(3, "mia", (Scope(cluster.pk, "team-a", "viewer"),)), mine)
    assert [other.name for other in wait.others] == ["a gang you may not see"]
    assert "theirs" not in str(wait)


def test_a_running_gang_reads_no_queues(
    cluster: Cluster, owner: Viewer, django_assert_max_num_queries: Any
) -> None:
    serve_scheduler(cluster, KAI)
    scheduler_queue(cluster, KAI, "research")
    running: dict[str, Any] = {"stage": Stage.RUN, "health": Health.RUNNING, "scheduled": 8}
    mine = in_queue(cluster, KAI, "research", "mine", **running)
    freshness = read_freshness(viewer=owner, now=NOW)[cluster.pk]
    groups = unpack_detail(bytes(mine.detail)).groups
    with django_assert_max_num_queries(1):
        assert read_waits(mine, (mine.uid,), groups, viewer=owner, cluster=freshness) == ()
