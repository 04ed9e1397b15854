"""The node-fit table: its numbers add up, and names and guesses are not for everybody."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.verdict import FitBlocker, FitReason
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.fit import fit_shapes, fold_equal_shapes
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster
from tests.factories import NOW, make_cluster, make_gang
from tests.readmodels.room import WHY_NOT_HERE, make_fit


def read(viewer: Viewer, cluster: Cluster, **columns: Any) -> GangDetail:
    gang = make_gang(cluster, detail=Detail(fit=(make_fit(),)), **columns)
    detail = gang_detail(viewer=viewer, gang_id=gang.id, now=NOW)
    assert detail is not None
    return detail


def test_every_node_is_in_one_line() -> None:
    (shape,) = fit_shapes([make_fit(open_nodes=0)], names_nodes=True)
    assert [(row.text, row.nodes) for row in shape.reasons] == [
        ("too few free GPUs", 5),
        ("no capacity for one more pod", 2),
        (WHY_NOT_HERE, 32),
        ("taint of a node that is not ready", 1),
    ]
    assert shape.open_nodes is not None
    assert shape.open_nodes + sum(row.nodes for row in shape.reasons) == shape.nodes == 40


def test_pod_requests_begin_with_devices() -> None:
    (shape,) = fit_shapes([make_fit()], names_nodes=True)
    assert shape.asks == "8 GPUs, 64 cpu, 512 Gi memory"


@pytest.mark.parametrize(("waiting", "fits", "short"), [(4, 0, 4), (4, 3, 1), (4, 4, 0), (4, 9, 0)])
def test_the_table_counts_unplaced_pods(waiting: int, fits: int, short: int) -> None:
    (shape,) = fit_shapes([make_fit(waiting=waiting, fits_now=fits)], names_nodes=True)
    assert shape.short == short


def test_the_bar_shows_the_nodes_in_proportion() -> None:
    row = make_fit(
        nodes=8,
        open_nodes=2,
        saturated=(FitReason("cpu", 2),),
        excluded=(FitReason("cordoned", 4),),
    )
    (shape,) = fit_shapes([row], names_nodes=True)
    assert [(item.start, item.width, item.tone) for item in shape.bar] == [
        (0.0, 25.0, "running"),
        (25.0, 25.0, "waiting"),
        (50.0, 50.0, "unknown"),
    ]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("host ports", "host port is taken"),
        ("required anti-affinity", "pod anti-affinity with a pod on the node"),
        ("a word of another release", "a word of another release"),
        ("amd.com/gpu", "too few free GPUs"),
    ],
)
def test_the_bottleneck_of_a_node_is_described(label: str, text: str) -> None:
    (shape,) = fit_shapes([make_fit(saturated=(FitReason(label, 1),))], names_nodes=True)
    assert (shape.saturated[0].label, shape.saturated[0].text) == (label, text)


def test_an_unknown_fit_has_no_numbers() -> None:
    (shape,) = fit_shapes([make_fit(why="nodes: forbidden")], names_nodes=True)
    assert shape.why == "nodes: forbidden"
    assert (shape.waiting, shape.asks[:1]) == (4, "8")
    assert (shape.fits_now, shape.fits_empty, shape.nodes, shape.open_nodes) == (None,) * 4
    assert (shape.reasons, shape.blockers) == ((), ())


def test_skipped_computations_are_reported() -> None:
    (shape,) = fit_shapes([make_fit(unsupported=("volume claims",))], names_nodes=True)
    assert shape.unsupported == ("volume claims",)
    assert shape.fits_empty == 7


@pytest.mark.parametrize(
    ("blockers", "sentence"),
    [
        (
            (FitBlocker("untolerated taint", "gpu", 9, 8, 4, ("n1",)),),
            "8 nodes are kept out by this cause alone: untolerated taint gpu. Capacity there: 4 of 6 pods.",
        ),
        (
            # More capacity than waiting pods.
            (FitBlocker("cordoned", "", 1, 1, 9),),
            "1 node is kept out by this cause alone: cordoned. Capacity there: 6 of 6 pods.",
        ),
        (
            (FitBlocker("nvidia.com/gpu", "", 3, 2),),
            "2 nodes are kept out by this cause alone: too few free GPUs.",
        ),
        (
            (FitBlocker("cordoned", "", 3, 0, 0), FitBlocker("has not said what it offers", "", 1)),
            "No single cause is known to keep a node out.",
        ),
    ],
)
def test_the_strongest_cause_in_a_sentence(blockers: tuple[FitBlocker, ...], sentence: str) -> None:
    (shape,) = fit_shapes([make_fit(waiting=6, blockers=blockers)], names_nodes=True)
    assert shape.blocker_sentence == sentence


def test_capacity_behind_a_cause_is_an_upper_bound_if_something_is_not_checked() -> None:
    (shape,) = fit_shapes([make_fit(unsupported=("volume claims",))], names_nodes=True)
    assert shape.blocker_sentence.endswith("Capacity there: at most 3 of 4 pods.")


@pytest.mark.django_db
def test_node_names_need_access_to_the_whole_cluster(owner: Viewer) -> None:
    cluster = make_cluster()
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    keeper = Viewer(4, "kim", (Scope(cluster.pk, "", "viewer"),))
    for viewer, named in ((owner, True), (keeper, True), (reader, False)):
        (shape,) = read(viewer, cluster).fit
        assert shape.saturated[0].examples == (("h100-1", "h100-2", "h100-3") if named else ())
        assert shape.saturated[0].nodes == 5
        assert shape.excluded[1].detail == "node.kubernetes.io/unreachable:NoSchedule"
        assert shape.excluded[0].more == (29 if named else 32)
        first = shape.blockers[0]
        assert (first.nodes, first.only_nodes, first.only_pods) == (32, 6, 3)
        assert first.examples == (("a100-1", "a100-2", "a100-3") if named else ())
        assert first.more == (3 if named else 6)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("problem", "message"), [("timeout", "does not answer"), ("", "is not being read")]
)
def test_an_outage_hides_the_stale_fit(owner: Viewer, problem: str, message: str) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4), problem=problem)
    (shape,) = read(owner, cluster).fit
    assert (shape.why, shape.fits_now) == (f"cluster lab {message}", None)


@pytest.mark.django_db
def test_a_deleted_gang_has_no_fit(owner: Viewer) -> None:
    assert read(owner, make_cluster(), gone_at=NOW).fit == ()


def test_equal_shapes_share_one_row_with_both_counts() -> None:
    rows = [make_fit(unit=f"trial-{n}", shape=f"trial-{n}", waiting=2) for n in range(5)]
    other_fit = make_fit(unit="driver", shape="driver", waiting=1)
    alike, single = fold_equal_shapes(fit_shapes([*rows, other_fit], names_nodes=True))
    assert (alike.count, alike.names, alike.more) == (5, ("trial-0", "trial-1", "trial-2"), 2)
    assert alike.shape.waiting == 2
    assert (single.count, single.names) == (1, ("driver",))
