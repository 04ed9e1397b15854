"""Fair shares of queues, and the queues that go first, by permission."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gangboard.domain.quota import FairShare, Queue
from gangboard.pages.gang.queue_waits import read_waits
from gangboard.readmodels.fair_shares import FairShareRow, fair_share_row
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.queue_lines import QueuesOfCluster
from gangboard.store.access import Scope, Viewer
from tests.domain_objects import a_queue, an_alias, shared_quota
from tests.factories import NOW, make_cluster
from tests.stored_queues import gang_of, serve, store, waits

OWNER = Viewer(1, "ada", (Scope(None, "", "admin"),))
READER = Viewer(2, "mia", (Scope(1, "team-a", "viewer"),))


def queue(name: str, share: int | None, cohort: str = "all", weight: str = "1") -> Queue:
    return a_queue(name, cohort=cohort, share=FairShare(share, Decimal(weight)))


def known(*queues: Queue, waiting: tuple[str, ...] = ("a", "b", "c")) -> QueuesOfCluster:
    """Return queues with a LocalQueue each, and with a waiting gang in those of `waiting`."""
    result = QueuesOfCluster()
    for item in queues:
        name = item.meta.ref.name
        result.tree.put(item)
        namespace = f"team-{name}"
        result.tree.put(an_alias("lq", to=name, namespace=namespace, uid=f"uid-{name}-lq"))
        if name in waiting:
            result.add(waits(f"run-{name}", namespace, queue="lq"))
    return result


def row(queues: QueuesOfCluster, viewer: Viewer = OWNER, name: str = "a") -> FairShareRow | None:
    of = next(item for item in queues.tree if item.meta.ref.name == name)
    return fair_share_row(queues, of, viewer=viewer, cluster_id=1)


def sentence(queues: QueuesOfCluster, viewer: Viewer = OWNER) -> str:
    result = row(queues, viewer)
    assert result is not None
    return result.sentence


def test_the_queue_with_the_lower_share_goes_first() -> None:
    queues = known(queue("a", 340), queue("b", 120))
    assert sentence(queues) == (
        "The fair share of a is 340. b (120) goes first, because its share is lower."
    )
    # A higher share, an equal share, and no waiting gang.
    assert sentence(known(queue("a", 340), queue("b", 341))) == ""
    assert sentence(known(queue("a", 340), queue("b", 340))) == ""
    assert sentence(known(queue("a", 340), queue("b", 120), waiting=("a",))) == ""
    # Another cohort.
    assert sentence(known(queue("a", 340), queue("b", 120, "other"))) == ""


def test_shares_are_ordered_with_their_weights() -> None:
    queues = known(queue("a", 340), queue("b", 120, weight="2"), queue("c", 0))
    assert sentence(queues) == (
        "The fair share of a is 340. c (0) and b (120, weight 2) go first, because their shares are lower."
    )


def test_a_borrowing_queue_without_weight_goes_last() -> None:
    queues = known(queue("a", None, weight="0"), queue("b", 9000))
    result = row(queues)
    assert result is not None
    assert (result.share, result.text) == (None, "fair share last, weight 0")
    assert [before.name for before in result.before] == ["b"]
    assert sentence(known(queue("a", 9000), queue("b", None, weight="0"))) == ""


def test_without_fair_sharing_there_is_no_share() -> None:
    assert row(known(a_queue("a", cohort="all"), queue("b", 120))) is None
    assert sentence(known(queue("a", 340), a_queue("b", cohort="all"))) == ""


def test_queues_of_different_cohorts_are_compared_by_their_cohorts() -> None:
    """`b` has the higher share, but the cohort of `b` has the lower share."""
    tree = (
        shared_quota("top"),
        shared_quota("left", cohort="top", share=FairShare(500)),
        shared_quota("right", cohort="top", share=FairShare(100)),
    )
    queues = known(queue("a", 340, "left"), queue("b", 900, "right"))
    for item in tree:
        queues.tree.put(item)
    result = row(queues)
    assert result is not None
    assert [(before.name, before.share) for before in result.before] == [("b", 100)]
    assert [(level.kind, level.name, level.share) for level in result.shared] == [
        ("Cohort", "left", 500)
    ]
    # The share of a cohort without an object is unknown.
    queues.tree.remove(tree[2].name)
    unknown = row(queues)
    assert unknown is not None
    assert unknown.before == ()


def test_foreign_queues_are_only_counted() -> None:
    queues = known(queue("a", 340), queue("b", 120), queue("c", 0))
    result = row(queues, READER)
    assert result is not None
    assert (result.before, result.before_hidden, result.shared) == ((), 2, ())
    assert result.sentence == (
        "The fair share of a is 340. 2 queues go first, because their shares are lower."
    )
    queues.tree.put(an_alias("second", to="b", uid="uid-second"))
    mixed = sentence(queues, READER)
    assert "b (120) and 1 other queue go first" in mixed


@pytest.mark.django_db
def test_a_waiting_gang_shows_the_shares() -> None:
    cluster = make_cluster("east")
    serve(cluster)
    mine = waits("mine")
    store(
        cluster,
        queue("gpu", 340),
        queue("other", 120),
        an_alias("gpu-lq", to="gpu"),
        an_alias("other-lq", to="other", namespace="team-b", uid="uid-other-lq"),
        mine,
        waits("theirs", "team-b", queue="other-lq"),
    )
    gang = gang_of(cluster, mine)
    (wait,) = read_waits(
        gang,
        [mine.owner_uid],
        (),
        viewer=OWNER,
        cluster=read_freshness(viewer=OWNER, now=NOW)[cluster.pk],
    )
    assert wait.fair_share is not None
    assert [before.name for before in wait.fair_share.before] == ["other"]
