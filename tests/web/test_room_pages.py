"""Reasons, Capacity and the node-fit table by each person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.domain.cluster_plan import (
    ClusterPlan,
    PlanGain,
    PlanStep,
    PlanStepKind,
    UntriedGangs,
)
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.store.cluster_plans import save_plan
from gangboard.store.gangs import Detail
from gangboard.store.models import (
    Cluster,
    ClusterCapacity,
    Gang,
    NodeCapacity,
    TrendPoint,
    WatchedObject,
)
from gangboard.store.trends import QUARTER, quarter_of
from tests.domain_objects import a_node, a_pod
from tests.factories import make_gang, make_gangs, make_history, store_object
from tests.personas import Person, make_stranger
from tests.readmodels.room import make_capacity, make_fit, make_node, make_shape
from tests.web.conftest import World
from tests.web.live_requests import Question, next_question
from tests.web.test_pages import text_of

PAGES = ("/reasons/", "/capacity/")
DEVICES = ("amd.com/gpu", "aws.amazon.com/neuron", "google.com/tpu", "habana.ai/gaudi")


@pytest.fixture
def nodes(world: World) -> World:
    """Nodes of two pools with five kinds of accelerators in eu-train; us-train's are forbidden."""
    now = timezone.now()
    shapes = (
        make_shape(),
        make_shape(
            requests={"cpu": "4"}, fits_now=11, fits_empty=13, unsupported=["volume claims"]
        ),
        make_shape(requests={"cpu": "2"}, why="not understood: the toleration operator Gt"),
    )
    make_capacity(world.cluster, shapes=shapes, now=now)
    make_node(world.cluster, "h100-1")
    make_node(world.cluster, "h100-2", cordoned=True)
    for number, device in enumerate(DEVICES):
        room = {"cpu": "8", "pods": "10", device: str(number + 21)}
        labels = {"node.kubernetes.io/instance-type": f"type-{number}"}
        make_node(world.cluster, f"n{number}", labels=labels, allocatable=room, used={}, held={})
    make_capacity(world.other_cluster, why="nodes: forbidden", now=now)
    return world


def fitted(world: World, **columns: Any) -> str:
    """A gang with a node-fit table; its id."""
    fit = (make_fit(), make_fit(shape="driver", why="nodes: forbidden"))
    gang = make_gang(world.cluster, "fitted", now=timezone.now(), detail=Detail(fit=fit), **columns)
    return str(gang.id)


class TestOwner:
    def test_capacity_shows_waits_and_marks_small_samples(
        self, owner: Person, nodes: World
    ) -> None:
        nothing = "No gang has been watched from its creation"
        assert nothing in text_of(owner.client, "/capacity/")
        born = timezone.now() - timedelta(hours=2)
        for _ in range(5):
            gang = make_gang(nodes.cluster, created_at=born)
            make_history(gang, born, ("room", 34), ("runs", 10))
        page = text_of(owner.client, "/capacity/")
        assert nothing not in page
        assert "the newest 5 gangs that started" in page
        assert "34 min" in page
        assert page.count("too few gangs") == 1

    def test_reasons_lead_to_the_board(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/reasons/")
        for text in (
            ">Insufficient resources</a>, 2 of 2 gangs and 16 of 16 accelerators.",
            "2 clusters, all namespaces.",
            'href="/?code=insufficient-resources"',
            "It goes when 5 GPUs become free.",
            "llama-sft",
            "diffusion-run",
        ):
            assert text in page
        board = text_of(owner.client, "/?code=insufficient-resources")
        assert "llama-sft" in board
        assert "diffusion-run" in board

    def test_reasons_show_the_plan_of_each_cluster(self, owner: Person, world: World) -> None:
        gang = Gang.objects.get(name="llama-sft")
        ref = ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
        gains = (PlanGain((ref,), 1, 1, 8),)
        steps = (
            PlanStep(PlanStepKind.UNCORDON, gains, 8, (node_ref("h100-9"),)),
            PlanStep(PlanStepKind.STOP_WHOLE, gains, 8, gangs=(ref,)),
        )
        plan = ClusterPlan(steps, (), 2, 16, is_complete=False)
        save_plan(world.cluster.pk, plan, at=timezone.now())
        page = text_of(owner.client, "/reasons/?cluster=eu-train")
        for text in (
            "Plan for eu-train",
            "2 gangs with 16 accelerators wait for nodes.",
            "These steps let at least 8 accelerators run, in this order.",
            "Not all combinations were tried.",
            "Uncordon h100-9 (in cluster eu-train).",
            "uncordon h100-9",
            "1 gang with 8 accelerators",
        ):
            assert text in page
        assert "which runs completely" not in page
        assert "which runs completely" in text_of(
            owner.client, "/reasons/?cluster=eu-train&whole=1"
        )

    def test_a_plan_that_was_cut_does_not_say_that_no_steps_help(
        self, owner: Person, world: World
    ) -> None:
        untried = (UntriedGangs(PlanStepKind.UNCORDON, 2, 16),)
        plan = ClusterPlan((), (), 2, 16, is_complete=False, untried=untried)
        save_plan(world.cluster.pk, plan, at=timezone.now())
        page = text_of(owner.client, "/reasons/?cluster=eu-train")
        assert "None of the steps that were tried lets more of them run." in page
        assert "Uncordons were not tried for 2 gangs with 16 accelerators." in page
        assert "No combination of a few steps" not in page

    def test_a_complete_plan_without_steps_says_that_no_steps_help(
        self, owner: Person, world: World
    ) -> None:
        save_plan(world.cluster.pk, ClusterPlan((), (), 1, 8), at=timezone.now())
        page = text_of(owner.client, "/reasons/?cluster=eu-train")
        assert "1 gang with 8 accelerators waits for nodes." in page
        assert "No combination of a few steps lets more of them run." in page
        assert "Not all combinations were tried." not in page

    def test_a_plan_that_is_not_known_says_why(self, owner: Person, world: World) -> None:
        save_plan(world.cluster.pk, ClusterPlan(why="nodes: forbidden"), at=timezone.now())
        page = text_of(owner.client, "/reasons/?cluster=eu-train")
        assert "Not known: nodes: forbidden." in page
        assert "wait for nodes" not in page

    def test_an_update_of_the_reasons_names_the_same_namespaces(
        self, owner: Person, world: World
    ) -> None:
        question = next_question(owner.client.get("/reasons/").content.decode())
        make_gang(world.cluster, "one-more", now=timezone.now())
        assert "2 clusters, all namespaces." in question.ask(owner.client).content.decode()

    def test_reasons_are_filtered_in_the_address(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/reasons/?cluster=us-train&namespace=vision")
        assert "diffusion-run" in page
        assert "llama-sft" not in page
        assert 'href="/?cluster=us-train&amp;namespace=vision&amp;code=insufficient' in page
        assert "1 cluster, all namespaces" in page

    def test_capacity_adds_up_all_nodes(self, owner: Person, nodes: World) -> None:
        page = text_of(owner.client, "/capacity/")
        for device in (*DEVICES, "nvidia.com/gpu"):
            assert device in page
        for text in (
            "6 nodes: 5 ready",
            "1 cordoned",
            "2 more free on nodes that take no pods",
            "4 of the used are held by incomplete gangs",
            "type-3",
            "8 GPUs, 64 cpu",
            "3 pods",
            "at most 11 pods",
            "at most 13 pods",
            "not counted, so fewer may fit: volume claims",
            "unknown: not understood: the toleration operator Gt",
            # What the numbers do not look at, and what the words mean.
            "Fewer pods may fit in one topology domain",
            "held by incomplete gangs",
            "The capacity of this cluster is unknown: nodes: forbidden.",
        ):
            assert text in page, text

    def test_capacity_shows_accelerators_and_folds_other_resources(
        self, owner: Person, nodes: World
    ) -> None:
        """Two nodes with 192 cpu, 48.5 of them used on each, and five with 8: 97 of 424."""
        make_node(nodes.cluster, "cpu-1", allocatable={"cpu": "8"}, used={}, held={}, labels={})
        ClusterCapacity.objects.filter(cluster=nodes.cluster).update(
            shapes=[make_shape(fits_now=1), make_shape(requests={"cpu": "4"}, why="a volume")]
        )
        page = text_of(owner.client, "/capacity/?cluster=eu-train")
        visible, _, folded = page.partition("<h3>Other resources</h3>")
        # On the cordoned node 2 of 8 are free, which is not free.
        assert "<b>2</b> of 16 nvidia.com/gpu free" in visible
        assert "<td" not in visible.partition('class="pools"')[0]
        for resource in (">cpu<", ">memory<", ">pods<"):
            assert resource not in visible
            assert resource in folded
        summary = folded.partition("</summary>")[0]
        assert "cpu 23 % used, memory 25 % used, pods 2 % used" in summary
        assert "1 node without accelerators" in summary
        shapes = folded.partition("Largest gang that fits now")[2].partition("</summary>")[0]
        assert "largest pods that fit: 1 with 8 GPUs, 64 cpu" in shapes
        assert "1 of 2 shapes: more pods wait than fit" in shapes
        assert "1 unknown" in shapes

    def test_nodes_are_grouped_by_the_label_in_the_address(
        self, owner: Person, nodes: World
    ) -> None:
        NodeCapacity.objects.filter(name="h100-1").update(labels={"rack": "r7"})
        page = text_of(owner.client, "/capacity/?cluster=eu-train&by=rack")
        assert "By rack" in page
        assert ">r7</h4>" in page
        assert "without this label" in page
        assert "us-train</a></h2>" not in page

    def test_a_waiting_gang_has_a_node_fit_table(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, f"/gangs/{fitted(world)}/")
        for text in (
            "Where the waiting pods could go",
            "8 GPUs, 64 cpu, 512 Gi memory",
            "4 pods",
            "full: too few free GPUs",
            "h100-1, h100-2, h100-3 and 2 more",
            "excluded: node selector or required node affinity",
            "node.kubernetes.io/unreachable:NoSchedule",
            "Unknown</span>",
            "Counts each shape alone.",
            "6 nodes are kept out by this cause alone: node selector or required node affinity.",
            "What keeps nodes from llama-workers now, of 40 nodes.",
            'data-label="Nodes by it alone">6</td>',
            'data-label="Nodes by it alone">not known</td>',
            'data-label="Pods that fit there now">not computed</td>',
            "And 2 more causes, which keep out fewer nodes.",
        ):
            assert text in page, text

    def test_a_gang_that_waits_for_no_node_has_no_table(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, f"/gangs/{world.gang.id}/")
        assert "Where the waiting pods could go" not in page


class TestReader:
    def test_the_reader_counts_only_own_gangs(self, reader: Person, nodes: World) -> None:
        page = text_of(reader.client, "/reasons/")
        assert "1 of 1 gang and 8 of 8 accelerators." in page
        assert "1 cluster, gangs that you may see." in page
        for foreign in ("diffusion", "vision", "us-train"):
            assert foreign not in page

    def test_the_reader_sees_node_counts_without_pools(self, reader: Person, nodes: World) -> None:
        page = text_of(reader.client, "/capacity/")
        assert "need a role on the whole cluster" in page
        assert "6 nodes: 5 ready" in page
        assert "nvidia.com/gpu" in page
        for foreign in ("h100", "type-0", "us-train", "By pool", "Largest gang that fits now"):
            assert foreign not in page
        assert "h100" not in text_of(reader.client, "/capacity/?by=cloud.google.com/gke-nodepool")

    def test_the_reader_sees_node_counts_without_names(self, reader: Person, world: World) -> None:
        page = text_of(reader.client, f"/gangs/{fitted(world)}/")
        assert "full: too few free GPUs" in page
        assert "h100-" not in page
        assert "a100-" not in page


class TestStranger:
    @pytest.mark.parametrize("path", PAGES)
    def test_the_stranger_sees_an_explanation_instead_of_numbers(
        self, stranger: Person, nodes: World, path: str
    ) -> None:
        page = text_of(stranger.client, path)
        assert "You have no role yet, so there is nothing to see." in page
        for name in ("llama", "diffusion", "eu-train", "us-train", "research", "h100"):
            assert name not in page


class TestAnonymous:
    @pytest.mark.parametrize("path", [*PAGES, "/live/reasons/", "/live/capacity/"])
    def test_an_anonymous_user_is_sent_to_sign_in(
        self, anonymous: Client, world: World, path: str
    ) -> None:
        response = anonymous.get(path)
        assert response.status_code == 302
        assert response["Location"].startswith("/sign-in/")


class TestTruth:
    def test_a_silent_cluster_is_named_and_not_counted_as_zero(
        self, owner: Person, nodes: World
    ) -> None:
        Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=4))
        page = text_of(owner.client, "/reasons/")
        assert "Not known: no cluster can be read now." in page
        assert "0 of 2 clusters" in page
        assert ">2 unknown</a>" in page
        assert "1 gang of it counts as unknown." in page
        page = text_of(owner.client, "/capacity/")
        assert "the free resources of its nodes are unknown." in page
        assert "6 nodes" not in page

    def test_empty_and_unread_clusters_have_messages(self, owner: Person, nodes: World) -> None:
        world = nodes
        world.gang.delete()
        world.other_gang.delete()
        NodeCapacity.objects.all().delete()
        assert "No gang that could be read waits or has a problem." in text_of(
            owner.client, "/reasons/"
        )
        assert "This cluster has no nodes." in text_of(owner.client, "/capacity/")
        ClusterCapacity.objects.all().delete()
        page = text_of(owner.client, "/capacity/")
        assert page.count("The nodes of this cluster have not been read yet.") == 2

    @pytest.mark.parametrize("path", PAGES)
    @pytest.mark.parametrize(
        "query", ["cluster=%00", "cluster=no-such", "by=%00", "namespace=" + "x" * 9999, "by=a b"]
    )
    def test_invalid_filters_in_the_address_are_ignored(
        self, owner: Person, nodes: World, path: str, query: str
    ) -> None:
        text_of(owner.client, f"{path}?{query}")


@pytest.mark.parametrize(("path", "queries"), [("/reasons/", 14), ("/capacity/", 12)])
def test_queries_do_not_grow_with_the_rows(
    owner: Person, nodes: World, path: str, queries: int, django_assert_num_queries: Any
) -> None:
    # session, user, roles; clusters, life signs, whether queues are served; the curves; and those of the read model.
    make_gang(nodes.cluster, health="unknown")
    for number in (0, 60):
        if number:
            make_gangs(nodes.cluster, number, now=timezone.now())
            for index in range(number):
                make_node(nodes.cluster, f"more-{index}")
        with django_assert_num_queries(queries):
            text_of(owner.client, path)


@pytest.mark.parametrize("path", ["/live/reasons/", "/live/capacity/"])
def test_an_open_page_gets_only_the_changes(owner: Person, nodes: World, path: str) -> None:
    first = Question(path, "x").ask(owner.client)
    assert first.status_code == 200
    question = next_question(first.content.decode())
    assert question.ask(owner.client).status_code == 204
    make_gang(nodes.cluster, "one-more", now=timezone.now())
    NodeCapacity.objects.filter(name="h100-1").update(used={"nvidia.com/gpu": "7"})
    news = question.ask(owner.client)
    assert news.status_code == 200
    assert b'data-part="freshness"' not in news.content


class TestCurves:
    def test_reasons_and_capacity_show_the_last_day(self, owner: Person, nodes: World) -> None:
        record_two_points(nodes.cluster)
        page = text_of(owner.client, "/reasons/?cluster=eu-train")
        assert page.count('class="spark ') == 1
        assert "<caption>last 24 h" in page
        assert "<td>16</td>" in page
        # The curve's newest point may be a quarter of an hour old: beside it stands the number of the page.
        assert "<b>8</b> waiting</li>" in page
        page = text_of(owner.client, "/capacity/?cluster=eu-train")
        assert "Held by incomplete gangs</th>" in page
        assert 'href="/nodes/eu-train/h100-1/"' in page

    def test_one_namespace_has_no_curve(self, owner: Person, nodes: World) -> None:
        record_two_points(nodes.cluster)
        page = text_of(owner.client, "/reasons/?cluster=eu-train&namespace=research")
        assert "spark" not in page
        assert "<caption>last 24 h" not in page


def record_two_points(cluster: Cluster) -> None:
    """Write the points of this quarter of an hour, of the one before, and of a day ago."""
    for number in (0, 1, 95):
        TrendPoint.objects.create(
            cluster=cluster,
            at=quarter_of(timezone.now()) - QUARTER * number,
            is_lasting=True,
            gangs={"waiting": 2},
            waiting=16.0,
            reasons={"placement/insufficient-resources": [2, 16.0]},
            used=9.0,
            held=3.0,
            free=5.0,
            away=0.0,
        )


class TestNode:
    def test_a_node_shows_its_capacity_and_its_gangs(self, owner: Person, nodes: World) -> None:
        put_on_node(nodes, "h100-1")
        page = text_of(owner.client, "/nodes/eu-train/h100-1/")
        assert "2 of 8 GPUs are free." in page
        assert "On this node: 0 gangs, 1 other pod" in page
        assert "kubectl describe node h100-1" in page
        assert "No gang that you may see has pods that wait for a node." in page
        live = owner.client.get("/live/nodes/eu-train/h100-1/?version=x")
        assert live.status_code in (200, 204)

    def test_an_open_page_shows_a_new_cordon(self, owner: Person, nodes: World) -> None:
        put_on_node(nodes, "h100-1")
        first = Question("/live/nodes/eu-train/h100-1/", "x").ask(owner.client)
        assert "<dt>Cordoned</dt><dd>no</dd>" in first.content.decode()
        question = next_question(first.content.decode())
        assert question.ask(owner.client).status_code == 204
        WatchedObject.objects.filter(resource="nodes").delete()
        store_object(nodes.cluster, "nodes", a_node("h100-1", unschedulable=True))
        NodeCapacity.objects.filter(name="h100-1").update(cordoned=True)
        news = question.ask(owner.client).content.decode()
        assert "<dt>Cordoned</dt><dd>yes</dd>" in news
        assert 'id="node-waiting"' in news

    def test_missing_and_hidden_nodes_look_the_same(self, owner: Person, nodes: World) -> None:
        put_on_node(nodes, "h100-1")
        text_of(owner.client, "/nodes/eu-train/h100-7/", 404)
        text_of(owner.client, "/nodes/no-such/h100-1/", 404)
        text_of(make_stranger().client, "/nodes/eu-train/h100-1/", 404)


def put_on_node(world: World, name: str) -> None:
    """Store the node itself, with one pod on it."""
    store_object(world.cluster, "nodes", a_node(name, allocatable={"nvidia.com/gpu": 8}))
    pod = a_pod("shell", on=name)
    store_object(world.cluster, "pods", pod)
    NodeCapacity.objects.filter(name=name).update(pods={pod.meta.ref.uid: ""})
