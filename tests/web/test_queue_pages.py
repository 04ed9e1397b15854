"""The Queues pages and the queue of a gang, by each person; live."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.quota import FairShare, FlavorAmount, QueueState, Quota, QuotaTerm
from gangboard.domain.suspension import FieldWriter
from gangboard.store.models import Cluster, ResourceState
from tests.domain_objects import a_queue, an_alias, shared_quota
from tests.personas import Person
from tests.stored_queues import (
    GPU,
    KAI,
    KEYS,
    VOLCANO,
    gang_of,
    gpus,
    has,
    in_queue,
    scheduler_queue,
    serve,
    serve_scheduler,
    store,
    waits,
)
from tests.web.conftest import World
from tests.web.live_requests import first_question


def text_of(person: Person, path: str) -> str:
    """The text of a page without tags."""
    response = person.client.get(path)
    assert response.status_code == 200, path
    match = re.sub(r"<[^>]*>", " ", response.content.decode())
    return " ".join(html.unescape(match).split())


HOSTILE = "<script>alert(1)</script>"
LACKS = QueueMessage(
    QueueCode.WAITING_FOR_QUOTA, HOSTILE, lacks=(FlavorAmount("h100", GPU, Decimal(2)),)
)


@pytest.fixture
def queued(world: World) -> str:
    """Queue `gpu` of eu-train from research and vision; id of the gang `mine`, which waits in research."""
    eu = world.cluster
    serve(eu)
    mine, theirs = waits("mine", "research", message=LACKS), waits("theirs", "vision", priority=5)
    stopped = {
        "state": QueueState.STOPPED,
        "cause": "what runs goes on",
        "stop_setting": "spec.stopPolicy Hold",
        "stopped_by": FieldWriter("kubectl-patch", datetime(2026, 11, 27, 2, 18, tzinfo=UTC)),
    }
    store(
        eu,
        a_queue("gpu", cohort="all", quotas=(gpus("8", "10", "2"),), pending=2),
        a_queue("idle", cohort="all", quotas=(gpus("4"),), **stopped),
        shared_quota("all"),
        an_alias("gpu-lq", to="gpu", namespace="research"),
        an_alias("gpu-lq", to="gpu", namespace="vision", uid="uid-b"),
        an_alias("lost-lq", to="nowhere", namespace="research"),
        has("holder", "10", "vision"),
        *(mine, theirs),
    )
    gang_of(eu, theirs)
    return gang_of(eu, mine).pk


def test_the_list_shows_numbers_and_the_first_waiting_gang(owner: Person, queued: str) -> None:
    page = text_of(owner, "/queues/")
    for message in (
        "ClusterQueue · eu-train · Cohort all", "10 of 8", "2 borrowed", "2 lent", "theirs", "Stopped",
        "Its priority is the highest: 5, the next has 0.",
        "Stopped (spec.stopPolicy Hold) with kubectl at 2026-11-27 02:18 UTC or before: what runs goes on.",
        "LocalQueue research/lost-lq in eu-train names ClusterQueue nowhere, which does not exist",
    ):  # fmt: skip
        assert message in page


@pytest.mark.parametrize("name", ["a/b", HOSTILE])
def test_a_queue_with_an_unusable_name_has_no_link(owner: Person, world: World, name: str) -> None:
    """The name `a/b` made the Queues page of all clusters a 500."""
    serve(world.cluster)
    mine = waits("mine", "research")
    store(
        world.cluster,
        a_queue(name, pending=1),
        an_alias("gpu-lq", to=name, namespace="research"),
        mine,
    )
    gang = gang_of(world.cluster, mine)
    assert "mine" in text_of(owner, "/queues/")
    assert "In the queue" in text_of(owner, f"/gangs/{gang.pk}/")


def test_an_ineligible_gang_is_not_first(owner: Person, world: World) -> None:
    serve(world.cluster)
    kept_out = QueueMessage(QueueCode.QUEUE_STOPPED, "it is stopped", is_out_of_line=True)
    store(
        world.cluster,
        a_queue("gpu", state=QueueState.STOPPED, pending=1),
        an_alias("gpu-lq", to="gpu"),
        waits("kept", message=kept_out),
    )
    page = text_of(owner, "/queues/")
    assert "1 not eligible" in page
    assert "no gang is eligible" in page


def test_a_queue_page_shows_all_details(owner: Person, queued: str) -> None:
    page = text_of(owner, "/queues/eu-train/gpu/")
    for message in (
        "theirs",
        "mine",
        "requests",
        "In line",
        "Quota used by",
        "10 GPUs h100",
    ):
        assert message.lower() in page.lower()


def test_unset_fields_of_a_queue_are_unknown(owner: Person, world: World) -> None:
    serve(world.cluster)
    store(world.cluster, a_queue("gpu", pending=None, admitted=None))
    page = text_of(owner, "/queues/eu-train/gpu/")
    assert "waiting: unknown · admitted: unknown" in page


def test_a_reader_sees_own_queues_with_own_names_only(reader: Person, queued: str) -> None:
    for path in ("/queues/", "/queues/eu-train/gpu/", f"/gangs/{queued}/"):
        page = text_of(reader, path)
        assert "a gang you may not see" in page
        assert "theirs" not in page
        assert "vision" not in page
        assert "Cohort" not in page
    assert reader.client.get("/queues/eu-train/idle/").status_code == 404


def test_a_stranger_sees_no_queues(stranger: Person, queued: str) -> None:
    assert "You have no role yet, so there is nothing to see." in text_of(stranger, "/queues/")
    assert stranger.client.get("/queues/eu-train/gpu/").status_code == 404


def test_a_gang_shows_the_queue_ahead_and_the_quota_holders(owner: Person, queued: str) -> None:
    page = text_of(owner, f"/gangs/{queued}/")
    for message in (
        "place 2 of 2 in line", "Ahead of it", "theirs", "Quota of nvidia.com/gpu (h100) used by",
        "2 GPUs must become free. gpu: 10 of 8 GPUs used (2 borrowed); Cohort all 10 of 12.",
        "jobset-holder-3f2a1", "10 GPUs",
    ):  # fmt: skip
        assert message in page


@pytest.mark.parametrize("path", ["/queues/", "/queues/eu-train/gpu/"])
def test_cluster_text_is_escaped(owner: Person, queued: str, path: str) -> None:
    assert HOSTILE not in owner.client.get(path).content.decode()


def test_fair_shares_are_on_the_pages_of_queues_and_gangs(
    owner: Person, reader: Person, world: World
) -> None:
    serve(world.cluster)
    mine = waits("mine", "research")
    store(
        world.cluster,
        a_queue("gpu", cohort="all", share=FairShare(340, Decimal(2))),
        a_queue("render", cohort="all", share=FairShare(120)),
        shared_quota("all", share=FairShare(55)),
        an_alias("gpu-lq", to="gpu", namespace="research"),
        an_alias("render-lq", to="render", namespace="vision", uid="uid-b"),
        mine,
        waits("theirs", "vision", queue="render-lq"),
    )
    gang = gang_of(world.cluster, mine).pk
    sentence = "The fair share of gpu is 340, weight 2. {} goes first, because its share is lower."
    assert "fair share 340, weight 2" in text_of(owner, "/queues/")
    page = text_of(owner, "/queues/eu-train/gpu/")
    assert "fair share 340, weight 2 · Cohort all: 55" in page
    assert sentence.format("render (120)") in page
    assert sentence.format("render (120)") in text_of(owner, f"/gangs/{gang}/")
    for path in ("/queues/eu-train/gpu/", f"/gangs/{gang}/"):
        page = text_of(reader, path)
        assert sentence.format("1 queue") in page
        assert "render" not in page


def test_the_page_is_offered_where_queues_are_served(owner: Person, world: World) -> None:
    assert 'href="/queues/"' not in owner.client.get("/").content.decode()
    serve(world.cluster)
    assert 'href="/queues/"' in owner.client.get("/").content.decode()


def test_unserved_and_empty_are_distinguished(owner: Person, world: World) -> None:
    serve(world.cluster, **dict.fromkeys(KEYS, "not-served"))
    assert "No cluster that could be read serves queues." in text_of(owner, "/queues/")
    serve(world.other_cluster, **dict.fromkeys(KEYS, "not-served"))
    assert "No cluster that you may see serves queues." in text_of(owner, "/queues/")
    ResourceState.objects.filter(cluster=world.other_cluster).delete()
    serve(world.other_cluster)
    assert "Clusters with queues: us-train" in text_of(owner, "/queues/")
    assert "No queue matches these filters." in text_of(owner, "/queues/?state=stopped")


def test_open_pages_show_a_stopped_queue(owner: Person, queued: str, world: World) -> None:
    question = first_question(owner.client, "/queues/")
    stop(world.cluster)
    answer = question.ask(owner.client).content.decode()
    assert 'id="q-uid-gpu"' in answer
    assert "Stopped" in answer


def stop(cluster: Cluster) -> None:
    cluster.watchedobject_set.filter(name="gpu").delete()
    store(cluster, a_queue("gpu", state=QueueState.STOPPED))
    cluster.data_version += 1
    cluster.save()


def test_a_scheduler_queue_lists_its_waiting_gangs(owner: Person, world: World) -> None:
    serve_scheduler(world.cluster, KAI)
    quota = Quota("", GPU, Decimal(4), terms=(QuotaTerm("limit", None),))
    scheduler_queue(world.cluster, KAI, "lab", quota)
    gang = in_queue(
        world.cluster, KAI, "lab", "speech", namespace="research", priority_class="train"
    )
    listed = text_of(owner, "/queues/")
    assert "0 of 4 quota (limit unlimited)" in listed
    assert "speech" in listed
    assert "unknown: its entries" not in listed
    page = text_of(owner, "/queues/eu-train/lab/")
    for message in (
        "1 waiting · 0 with pods on nodes",
        "speech",
        "train",
        "8 GPUs",
        "research · 1 gang in it now",
    ):
        assert message in page
    assert "Place" not in page
    assert 'href="/queues/eu-train/lab/"' in owner.client.get(f"/gangs/{gang.pk}/").content.decode()
    assert '<option value="lab"' in owner.client.get("/").content.decode()


def test_a_gang_of_a_scheduler_shows_who_else_waits(owner: Person, world: World) -> None:
    serve_scheduler(world.cluster, KAI)
    scheduler_queue(world.cluster, KAI, "lab")
    own: dict[str, Any] = {"namespace": "research", "priority_class": "train"}
    alone = text_of(owner, f"/gangs/{in_queue(world.cluster, KAI, 'lab', 'speech', **own).pk}/")
    assert "no other gang waits, priority class train, requests 8 GPUs" in alone
    assert "Also waiting" not in alone
    gang = in_queue(world.cluster, KAI, "lab", "vision", age=90, namespace="research")
    in_queue(world.cluster, KAI, "lab", "audio", health=Health.UNKNOWN, code="not-observed")
    page = text_of(owner, f"/gangs/{gang.pk}/")
    assert "waits with 1 other , unknown for 1 gang, requests 8 GPUs" in page
    assert "Also waiting KAI first takes the queue furthest below its fair share" in page
    assert "in line" not in page[page.index("In the queue") : page.index("Also waiting")]


def test_a_gang_in_line_without_a_known_place_is_not_out_of_line(
    owner: Person, world: World
) -> None:
    """The page said `not in line now` of every gang of a queue that orders by recent usage."""
    serve(world.cluster)
    mine, other = waits("mine"), waits("other", priority=9)
    queue = a_queue("gpu", is_by_usage=True)
    store(world.cluster, queue, an_alias("gpu-lq", to="gpu"), mine, other)
    page = text_of(owner, f"/gangs/{gang_of(world.cluster, mine).pk}/")
    assert "waits with 1 other , priority 0, requests 3 GPUs" in page
    assert "not in line now" not in page
    assert "Also waiting The LocalQueue with the lowest recent usage goes first" in page


def test_unreadable_groups_do_not_mean_an_empty_queue(owner: Person, world: World) -> None:
    serve_scheduler(world.cluster, KAI, groups="forbidden")
    scheduler_queue(world.cluster, KAI, "lab")
    assert "unknown: its entries cannot be read" in text_of(owner, "/queues/")
    page = text_of(owner, "/queues/eu-train/lab/")
    assert "The reader may not list PodGroups" in page
    assert "Nobody" not in page


OPEN = ("vcctl", "queue", "operate", "-a", "open", "-n", "closed")


@pytest.mark.parametrize("context", ["", "admin@eu"])
def test_the_command_of_a_queue_names_its_cluster_and_can_be_copied(
    owner: Person, world: World, context: str
) -> None:
    """It was a part of the text. vcctl has no option for a context, so the text names the cluster."""
    eu = world.cluster
    Cluster.objects.filter(pk=eu.pk).update(context=context)
    serve_scheduler(eu, VOLCANO)
    advised = {"cause": "it is closed", "advice": "Open it.", "command": OPEN}
    store_closed = {"state": QueueState.STOPPED, **advised}
    scheduler_queue(eu, VOLCANO, "closed", **store_closed)
    page = owner.client.get("/queues/eu-train/closed/").content.decode()
    assert f'data-copy="{" ".join(OPEN)}"' in page
    assert f'Open it (in cluster eu-train). <code tabindex="0">{" ".join(OPEN)}</code>' in page
    (row,) = owner.client.get("/api/v1/queues/").json()["results"]
    assert row["advice"] == f"Open it (in cluster eu-train): {' '.join(OPEN)}"
    assert row["command"] == list(OPEN)


def test_advice_without_a_command_stays_as_it_is(owner: Person, world: World) -> None:
    serve_scheduler(world.cluster, VOLCANO)
    scheduler_queue(
        world.cluster,
        VOLCANO,
        "closed",
        state=QueueState.STOPPED,
        cause="it is closed",
        advice="Open it.",
    )
    (row,) = owner.client.get("/api/v1/queues/").json()["results"]
    assert (row["advice"], row["command"]) == ("Open it.", [])
