"""Buttons: permissions, label, lever, and the reason on a disabled one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.pages.nodes.node_jobs import jobs_on_node
from gangboard.readmodels import action_offers
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang, Switch, WatchedObject
from tests.factories import NOW, make_cluster, make_gang
from tests.recorded_actions import make_action
from tests.stored_jobsets import make_hold, make_jobset, make_readable

pytestmark = pytest.mark.django_db

Levers = Callable[..., ClusterLevers]
SUSPENDED: dict[str, Any] = {"health": "suspended", "stage": "admission"}


@pytest.fixture
def cluster() -> Cluster:
    new_cluster = make_cluster(actor_credentials=b"sealed")
    make_readable(new_cluster)
    return new_cluster


@pytest.fixture
def levers(monkeypatch: pytest.MonkeyPatch) -> Levers:
    """Say what every cluster allows: by default the Hold is installed and was proved."""

    def allow(**fields: Any) -> ClusterLevers:
        values = {
            "cluster": "eu-train",
            "has_actor": True,
            "hold": PolicyState.INSTALLED,
            "hold_proved_at": NOW,
        }
        cluster_levers = ClusterLevers(**{**values, **fields})
        monkeypatch.setattr(
            "gangboard.readmodels.action_offers.read_levers", lambda _: cluster_levers
        )
        return cluster_levers

    allow()
    return allow


def read(viewer: Viewer, gang: Gang) -> GangDetail:
    result = gang_detail(viewer=viewer, gang_id=gang.pk, now=NOW)
    assert result is not None
    return result


def offer_texts(offers: tuple[OfferRow, ...]) -> list[tuple[str, bool, str]]:
    return [(offer.label, offer.allowed, offer.lever) for offer in offers]


def primary(offers: tuple[OfferRow, ...]) -> OfferRow:
    (result,) = (offer for offer in offers if offer.primary)
    return result


# --- the Gang page


def test_a_child_job_is_held_and_the_owner_suspended(
    owner: Viewer, cluster: Cluster, levers: Levers
) -> None:
    detail = read(owner, make_jobset(cluster))
    assert [offer_texts(job.actions)[0] for job in detail.jobs] == [("Suspend", True, "hold")] * 3
    assert offer_texts(detail.actions)[0] == ("Suspend", True, "suspend")
    offer = primary(detail.jobs[1].actions)
    assert (offer.verb, offer.name, offer.uid, offer.generation, offer.kind) == (
        "suspend",
        "llama-workers-1",
        "eu-train-research-llama-job-1",
        3,
        "Job",
    )
    resume = detail.jobs[1].actions[1]
    assert (resume.allowed, resume.lever) == (False, "")
    assert resume.why_not


def test_a_held_job_offers_its_release(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster, suspended={"llama-workers-1"})
    make_hold(cluster, gang, "llama-workers-1")
    detail = read(owner, gang)
    offer = primary(detail.jobs[1].actions)
    assert (offer.verb, offer.label, offer.allowed) == ("resume", "Resume", True)
    assert primary(detail.jobs[0].actions).verb == "suspend"


def test_a_missing_hold_has_a_reason_and_a_requirement(
    owner: Viewer, cluster: Cluster, levers: Levers
) -> None:
    levers(hold=PolicyState.MISSING)
    offer = primary(read(owner, make_jobset(cluster)).jobs[0].actions)
    assert (offer.label, offer.allowed) == ("Suspend", False)
    assert offer.why_not
    assert "manage.py print_rbac --cluster eu-train | kubectl apply -f -" in offer.needs


def test_every_button_mentions_a_missing_actor(
    owner: Viewer, cluster: Cluster, levers: Levers
) -> None:
    levers(has_actor=False)
    detail = read(owner, make_jobset(cluster))
    offers = [detail.actions[0], *(job.actions[0] for job in detail.jobs)]
    assert {offer.why_not for offer in offers} == {
        "Cluster eu-train has no actor: gangboard may only read it."
    }


@pytest.mark.parametrize(
    ("role", "may_act", "why_not"),
    [
        ("viewer", True, "You have only read access to this namespace."),
        ("operator", False, "This token is read-only; create one with create_token --act."),
        ("admin", False, "This token is read-only; create one with create_token --act."),
    ],
)
def test_a_viewer_reads_the_missing_right_without_queries(
    cluster: Cluster, role: str, may_act: bool, why_not: str, levers: Levers
) -> None:
    gang = make_jobset(cluster, suspended={"llama-workers-2"})
    viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", role),), may_act=may_act)
    WatchedObject.objects.all().delete()
    detail = read(viewer, gang)
    for offers in (detail.actions, *(job.actions for job in detail.jobs)):
        assert [(offer.verb, offer.allowed, offer.lever) for offer in offers] == [
            ("suspend", False, ""),
            ("resume", False, ""),
        ]
        assert {offer.why_not for offer in offers} == {why_not}
        assert all(offer.plan is None for offer in offers)
    assert primary(detail.jobs[2].actions).verb == "resume"


def test_rights_on_another_namespace_do_not_apply(cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster)
    scopes = (Scope(cluster.pk, "research", "viewer"), Scope(cluster.pk, "other", "admin"))
    detail = read(Viewer(3, "rene", scopes), gang)
    assert not any(offer.allowed for job in detail.jobs for offer in job.actions)


def test_a_deleted_owner_has_no_buttons(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    detail = read(owner, make_jobset(cluster, gone_at=NOW))
    assert detail.actions == ()
    assert all(job.actions == () for job in detail.jobs)


def test_an_object_without_a_lever_has_a_reason(
    owner: Viewer, cluster: Cluster, levers: Levers
) -> None:
    gang = make_gang(cluster, "lonely", api_group="", api_version="v1", kind="Pod")
    (suspend, _) = read(owner, gang).actions
    assert (suspend.allowed, suspend.why_not) == (
        False,
        "Pod lonely cannot be suspended: no controller would re-create it.",
    )


def test_a_replaced_job_has_no_button(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster)
    WatchedObject.objects.filter(name="llama-workers-1").delete()
    offer = primary(read(owner, gang).jobs[1].actions)
    assert offer.allowed is False
    assert (offer.name, offer.generation) == ("llama-workers-1", 3)


def test_stale_data_shows_a_warning(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster)
    Cluster.objects.update(contact_at=NOW - timedelta(seconds=50), problem="timeout")
    offer = primary(read(owner, gang).jobs[0].actions)
    assert offer.warnings[0] == "Cluster eu-train does not answer: the data is old."
    Cluster.objects.update(problem="")
    offer = primary(read(owner, gang).jobs[0].actions)
    assert offer.warnings[0] == "Cluster eu-train is not being read: the data is old."


@pytest.mark.parametrize(("problem", "verb"), [("timeout", "answered"), ("", "been read")])
def test_a_silent_cluster_has_no_actions(
    owner: Viewer, cluster: Cluster, levers: Levers, problem: str, verb: str
) -> None:
    gang = make_jobset(cluster)
    Cluster.objects.update(contact_at=NOW - timedelta(minutes=3), problem=problem)
    why = f"Cluster eu-train has not {verb} since {NOW - timedelta(minutes=3):%Y-%m-%d %H:%M} UTC."
    detail = read(owner, gang)
    offered = [*detail.actions, *(offer for job in detail.jobs for offer in job.actions)]
    assert offered
    assert {(offer.allowed, offer.why_not) for offer in offered} == {(False, why)}
    clusters = read_freshness(viewer=owner, now=NOW)
    (rows,) = board_offers(viewer=owner, rows=[detail.row], clusters=clusters).values()
    assert [(offer.allowed, offer.why_not) for offer in rows] == [(False, why)]


def test_buttons_do_not_change_with_time(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster)
    later = gang_detail(viewer=owner, gang_id=gang.pk, now=NOW + timedelta(seconds=20))
    assert later is not None
    now = read(owner, gang)
    assert repr(later.jobs) == repr(now.jobs)
    assert repr(later.actions) == repr(now.actions)


def test_500_jobs_need_as_many_queries_as_3(
    owner: Viewer,
    cluster: Cluster,
    levers: Levers,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    gang = make_jobset(cluster, jobs=500)
    with django_assert_max_num_queries(18):
        detail = read(owner, gang)
    assert len(detail.jobs) == 500
    assert all(primary(job.actions).allowed for job in detail.jobs)


def test_past_actions_are_on_the_page(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    gang = make_jobset(cluster)
    uid = f"{gang.uid}-job-1"
    make_action(cluster, gang_id=gang.pk, uid=uid)
    open_one = make_action(cluster, gang_id=gang.pk, uid=uid, state="sent", finished_at=None)
    make_action(cluster, gang_id=gang.pk, uid=gang.uid, kind="JobSet")
    detail = read(owner, gang)
    assert [row.is_final for row in detail.history] == [True, False, True]
    assert [job.open_action and job.open_action.id for job in detail.jobs] == [
        None,
        open_one.pk,
        None,
    ]
    assert detail.open_action is None


# --- the Board


def on_board(viewer: Viewer) -> dict[str, OfferRow]:
    clusters = read_freshness(viewer=viewer, now=NOW)
    rows = list_gangs(viewer=viewer, filters=GangFilters(), now=NOW, clusters=clusters).rows
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    return {row.name: offers[row.id][0] for row in rows if row.id in offers}


def test_the_board_offers_the_effective_verb(owner: Viewer, cluster: Cluster) -> None:
    make_gang(cluster, "runs", health="running", stage="run", code="running")
    stopped = {"suspended": True}
    make_jobset(cluster, "paused", owner=stopped, **SUSPENDED, code="suspended")
    make_jobset(cluster, "given-up", owner=stopped, **SUSPENDED, code="deactivated")
    make_jobset(cluster, "one-held", **SUSPENDED, code="job-suspended")
    make_jobset(cluster, "goes", **SUSPENDED, code="being-deleted")
    make_gang(cluster, "done", health="succeeded", stage="run", code="succeeded")
    make_gang(cluster, "pod", api_group="", kind="Pod")
    result = on_board(owner)
    assert {name: (offer.label, offer.allowed) for name, offer in result.items()} == {
        "runs": ("Suspend", True),
        "paused": ("Resume", True),
        "given-up": ("Resume", True),
        "one-held": ("Suspend", True),
        "goes": ("Suspend", True),
        "done": ("Suspend", False),
    }
    assert (
        result["done"].why_not
        == "JobSet done has succeeded: there is nothing left to suspend or resume."
    )


@pytest.mark.parametrize(
    ("code", "owner_fields", "stopped", "verb"),
    [
        ("suspended", {"suspended": True}, {0, 1, 2}, "resume"),
        ("suspended", {}, {0, 1, 2}, "suspend"),
        ("deactivated", {}, {1}, "suspend"),
        ("deactivated", {"suspended": True}, {0, 1, 2}, "resume"),
        ("paused", {}, set(), "suspend"),
        ("job-suspended", {}, {1}, "suspend"),
    ],
)
def test_the_board_and_the_page_offer_the_same_for_an_owner(
    owner: Viewer,
    cluster: Cluster,
    levers: Levers,
    code: str,
    owner_fields: dict[str, Any],
    stopped: set[int],
    verb: str,
) -> None:
    """The state of the owner decides, not the reason: that can be about its Jobs or a part of them."""
    names = {f"llama-workers-{index}" for index in stopped}
    gang = make_jobset(cluster, suspended=names, owner=owner_fields, **SUSPENDED, code=code)
    assert on_board(owner)["llama"].verb == verb
    assert primary(read(owner, gang).actions).verb == verb
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    assert on_board(reader)["llama"].verb == verb
    assert primary(read(reader, gang).actions).verb == verb


@pytest.mark.parametrize(("is_honoured", "verb"), [(True, "resume"), (False, "suspend")])
def test_an_owner_is_resumed_job_by_job_where_its_controller_honours_that(
    owner: Viewer,
    cluster: Cluster,
    levers: Levers,
    monkeypatch: pytest.MonkeyPatch,
    is_honoured: bool,
    verb: str,
) -> None:
    allowed = levers(native_honoured=is_honoured)
    monkeypatch.setattr(action_offers, "read_all_levers", lambda _: {cluster.pk: allowed})
    gang = make_jobset(
        cluster,
        suspended={f"llama-workers-{index}" for index in range(3)},
        owner={"independent_claim": "reconciliation-mode: Independent"},
        **SUSPENDED,
        code="suspended",
    )
    assert on_board(owner)["llama"].verb == verb
    assert primary(read(owner, gang).actions).verb == verb


def test_the_board_explains_a_disabled_row(cluster: Cluster, owner: Viewer) -> None:
    bare = make_cluster("bare")
    make_gang(cluster, "a")
    make_gang(bare, "b")
    assert on_board(owner)["a"].allowed is True
    assert on_board(owner)["b"].why_not == "Cluster bare has no actor: gangboard may only read it."
    reader = Viewer(3, "rene", (Scope(None, "research", "viewer"),))
    assert on_board(reader)["a"].why_not == "You have only read access to this namespace."
    Cluster.objects.filter(name="eu-train").update(read_only=True)
    assert on_board(owner)["a"].why_not.startswith("Cluster eu-train is switched to read-only")
    Switch.objects.create(name="read-only", is_on=True, changed_at=NOW)
    assert on_board(owner)["a"].why_not.startswith("gangboard is switched to read-only")


def test_a_board_of_100_rows_needs_five_queries(
    owner: Viewer, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(100):
        make_gang(cluster)
    clusters = read_freshness(viewer=owner, now=NOW)
    rows = list_gangs(
        viewer=owner, filters=GangFilters(), limit=100, now=NOW, clusters=clusters
    ).rows
    reader = Viewer(3, "rene", (Scope(None, "research", "viewer"),))
    with django_assert_num_queries(0):
        board_offers(viewer=reader, rows=rows, clusters=clusters)
    with django_assert_num_queries(5):
        assert len(board_offers(viewer=owner, rows=rows, clusters=clusters)) == 100


def test_suspended_rows_need_one_more_query(
    owner: Viewer, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for index in range(10):
        stopped = {"suspended": bool(index % 2)}
        make_jobset(cluster, f"run-{index}", owner=stopped, **SUSPENDED, code="suspended")
    clusters = read_freshness(viewer=owner, now=NOW)
    rows = list_gangs(viewer=owner, filters=GangFilters(), now=NOW, clusters=clusters).rows
    with django_assert_num_queries(6):
        offers = board_offers(viewer=owner, rows=rows, clusters=clusters)
    verbs = {row.name: offers[row.id][0].verb for row in rows}
    assert verbs == {f"run-{index}": "resume" if index % 2 else "suspend" for index in range(10)}


# --- a node


def test_every_job_on_a_node_has_a_button(owner: Viewer, cluster: Cluster, levers: Levers) -> None:
    make_jobset(
        cluster,
        "llama",
        nodes={"llama-workers-0": ("gpu-01",), "llama-workers-2": ("gpu-01", "gpu-02")},
    )
    make_jobset(cluster, "eval", nodes={"eval-workers-1": ("gpu-011",)})
    make_jobset(cluster, "other", namespace="other", nodes={"other-workers-0": ("gpu-01",)})
    make_jobset(cluster, "gone", gone_at=NOW, nodes={"gone-workers-0": ("gpu-01",)})
    west = make_cluster("west", actor_credentials=b"sealed")
    make_jobset(west, "far", nodes={"far-workers-0": ("gpu-01",)})

    def names(viewer: Viewer, node: str = "gpu-01", where: str = "eu-train") -> list[str]:
        results = [
            job.offer for job in jobs_on_node(viewer=viewer, cluster=where, node=node, now=NOW)
        ]
        assert all(offer.verb == "suspend" and offer.lever == "hold" for offer in results)
        return [f"{offer.namespace}/{offer.name}" for offer in results]

    assert names(owner) == [
        "other/other-workers-0",
        "research/llama-workers-0",
        "research/llama-workers-2",
    ]
    assert names(owner, "gpu-02") == ["research/llama-workers-2"]
    assert names(owner, "gpu-1") == []
    assert names(owner, where="no-such") == []
    assert names(owner, "a\x00b") == []
    operator = Viewer(3, "otto", (Scope(cluster.pk, "research", "operator"),))
    assert names(operator) == ["research/llama-workers-0", "research/llama-workers-2"]
    assert names(operator, where="west") == []


def test_a_viewer_sees_the_jobs_on_a_node_and_the_missing_right(
    cluster: Cluster, levers: Levers
) -> None:
    make_jobset(cluster, nodes={"llama-workers-0": ("gpu-01",)})
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    (job,) = jobs_on_node(viewer=reader, cluster="eu-train", node="gpu-01", now=NOW)
    offer = job.offer
    assert (offer.allowed, offer.why_not) == (
        False,
        "You have only read access to this namespace.",
    )


def test_a_job_on_a_node_has_its_state_and_gang(owner: Viewer, cluster: Cluster) -> None:
    make_jobset(cluster, "llama", nodes={"llama-workers-0": ("gpu-01",)})
    (job,) = jobs_on_node(viewer=owner, cluster="eu-train", node="gpu-01", now=NOW)
    gang = Gang.objects.get(name="llama")
    assert (job.gang, job.gang_kind, job.accelerators) == ("llama", "JobSet", gang.accelerators)
    assert job.gang_state.word == gang.health
    assert job.desired > 0
    assert job.state.word in ("running", "starting")
