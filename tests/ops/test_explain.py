"""`manage.py explain` as an operator types it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.ops.management.commands import explain as command
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import (
    make_cluster,
    make_finding,
    make_gang,
    make_history,
    make_job,
    make_members,
)
from tests.readmodels.room import make_fit
from tests.recorded_actions import make_action

GANG = "eu-train/research/JobSet/llama-sft"


def run(address: str) -> str:
    out = StringIO()
    call_command("explain", address, stdout=out, no_color=True)
    return out.getvalue()


def refused(address: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(address)
    assert caught.value.returncode == 1
    return str(caught.value)


@pytest.fixture
def cluster(db: None) -> Cluster:
    now = timezone.now()
    cluster = make_cluster(now=now)
    gang = make_gang(
        cluster,
        "llama-sft",
        now=now,
        detail=Detail(
            findings=(
                make_finding(),
                make_finding(
                    "image-pull",
                    health=Health.DEGRADED,
                    message="1 pod cannot pull its image.",
                    advice=("Correct the image.",),
                    unit="eval",
                ),
            ),
            jobs=(make_job("llama-workers-0", nodes=("gpu-01",), ready=3),),
            members=make_members("llama-workers-0", 8),
            fit=(make_fit(), make_fit(shape="driver", why="nodes: forbidden")),
        ),
    )
    make_action(
        cluster,
        gang_id=gang.id,
        uid=gang.uid,
        name="llama-sft",
        requested_at=now,
        actor_name="ada",
        message="Held since 10:00.",
    )
    return cluster


def test_explain_prints_all_sections(cluster: Cluster) -> None:
    text = run(GANG)
    for line in (
        "JobSet research/llama-sft in cluster eu-train (jobset.x-k8s.io/v1alpha2)",
        "◔ Waiting · stage placement · insufficient-resources · for 38 min",
        "8 pods need 1 GPU each; 3 are free on the eligible nodes.",
        "  - It goes when 5 GPUs become free.",
        "  GPUs free    3",
        "  GPUs needed  8",
        "  Members   0 of 8 ready, quorum 8; 8 created, 0 scheduled, 0 succeeded, 0 failed, 0 held",
        "  Asks for  8 nvidia.com/gpu",
        "  Queue     gpu-prod",
        "  llama-workers-0  Starting  3/8 ready  gpu-01",
        "  llama-workers: 4 waiting; one asks for 8 GPUs, 64 cpu, 512 Gi memory",
        "    fit now: 0; fit if empty: 7",
        "     0  can take one more pod",
        "     5  full: too few free GPUs (h100-1, h100-2, h100-3, …)",
        "    32  excluded: node selector or required node affinity (a100-1, a100-2, a100-3, …)",
        "     1  excluded: taint of a node that is not ready node.kubernetes.io/unreachable:NoSchedule (h100-8)",
        "    40  nodes in all",
        "    6 nodes are kept out by this cause alone: node selector or required node affinity. "
        "Capacity there: 3 of 4 pods.",
        "      node selector or required node affinity: 32, by it alone 6 (a100-1, a100-2, a100-3, …)",
        "      too few free GPUs: 31, by it alone 5 (h100-1, h100-2, h100-3, …)",
        "      taint of a node that is not ready node.kubernetes.io/unreachable: 1, by it alone 0",
        "      has not said what it offers: 1, by it alone unknown",
        "      and 2 more",
        "  driver: 4 waiting; one asks for 8 GPUs, 64 cpu, 512 Gi memory",
        "    unknown: nodes: forbidden",
        "  Degraded · image-pull: eval: 1 pod cannot pull its image.",
        "    - Correct the image.",
    ):
        assert line in text.splitlines(), text
    assert "(by ada): Held since 10:00." in text
    assert text.splitlines()[-1].endswith("Cluster eu-train is live: it answered 2 s ago.")
    assert "\x1b" not in text


def test_lines_are_not_wrapped_for_a_program(cluster: Cluster) -> None:
    message = "It waits " + "for a very long time " * 20
    make_gang(cluster, "long", message=message.strip(), now=timezone.now())
    assert message.strip() in run("eu-train/research/JobSet/long").splitlines()


def test_lines_are_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((50, 24)))
    folded = command._wrap("  - Uncordon gpu-18, gpu-19 and gpu-23: 8 GPUs are free on each.")
    assert folded.splitlines() == [
        "  - Uncordon gpu-18, gpu-19 and gpu-23: 8 GPUs are",
        "    free on each.",
    ]
    assert command._wrap("") == ""


def test_a_gang_of_a_silent_cluster_is_marked(cluster: Cluster) -> None:
    long_ago = timezone.now() - timedelta(minutes=4)
    Cluster.objects.update(contact_at=long_ago, problem="timeout")
    text = run(GANG)
    assert "? Unknown · not-observed · for" in text
    assert "Cluster eu-train has not answered for 4 min. It was waiting." in text
    assert "unknown: cluster eu-train does not answer" in text
    assert "Cluster eu-train is silent: it answered 4 min ago." in text


def test_a_deleted_gang_is_shown_until_its_name_is_reused(cluster: Cluster) -> None:
    deleted = timezone.now() - timedelta(minutes=3)
    since = deleted - timedelta(minutes=35)
    gang = make_gang(cluster, "old", message="The last words.", now=timezone.now(), since=since)
    Gang.objects.filter(pk=gang.pk).update(gone_at=deleted)
    text = run("eu-train/research/JobSet/old")
    assert "Deleted 3 min ago. Last state: Waiting." in text
    assert "Was waiting · stage placement · insufficient-resources · for 35 min" in text
    make_gang(cluster, "old", message="The first words.", now=timezone.now())
    assert "The first words." in run("eu-train/research/JobSet/old")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (
            "us/research/JobSet/llama-sft",
            "there is no cluster 'us'; the clusters are: eu-train",
        ),
        (
            "eu-train/research/Job/llama-workers-0",
            "no gang Job research/llama-workers-0 is known in cluster eu-train. A gang is named by "
            "its topmost owner: the JobSet, not its Jobs or pods",
        ),
        (
            "eu-train/research/Job/llama-sft",
            "no gang Job research/llama-sft is known in cluster eu-train; of that name there is: "
            "JobSet.jobset.x-k8s.io",
        ),
        (
            "eu-train/research/JobSet.example.com/llama-sft",
            "no gang JobSet.example.com research/llama-sft is known in cluster eu-train; of that "
            "name there is: JobSet.jobset.x-k8s.io",
        ),
    ],
)
def test_a_missing_gang_is_an_error(cluster: Cluster, address: str, sentence: str) -> None:
    assert refused(address) == sentence


def test_two_kinds_of_one_name_are_distinguished_by_group(cluster: Cluster) -> None:
    for group, message in (
        ("scheduling.k8s.io", "Of the core."),
        ("scheduling.volcano.sh", "Of Volcano."),
    ):
        make_gang(
            cluster, "ring", kind="PodGroup", api_group=group, message=message, now=timezone.now()
        )
    assert refused("eu-train/research/PodGroup/ring") == (
        "there is more than one PodGroup of that name: write "
        "eu-train/research/PodGroup.scheduling.k8s.io/ring or "
        "eu-train/research/PodGroup.scheduling.volcano.sh/ring"
    )
    assert "Of Volcano." in run("eu-train/research/PodGroup.scheduling.volcano.sh/ring")
    assert "Of the core." in run("eu-train/research/podgroup.scheduling.k8s.io/ring")


def test_a_kind_of_the_core_group_is_accepted(cluster: Cluster) -> None:
    make_gang(cluster, "shell", kind="Pod", api_group="", api_version="v1", now=timezone.now())
    for kind in ("Pod", "Pod."):
        assert "Pod research/shell in cluster eu-train (v1)" in run(
            f"eu-train/research/{kind}/shell"
        )


@pytest.mark.parametrize("address", ["", "llama", "a/b/c", "a/b/c/d/e", "a//JobSet/x", "/b/c/d"])
def test_a_malformed_name_gets_the_format(address: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(address)
    assert "CLUSTER/NAMESPACE/KIND[.GROUP]/NAME" in str(caught.value)


def test_a_malformed_name_is_an_error_of_usage(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "explain", "llama"],
        env={**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/x.sqlite3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "usage: manage.py explain" in done.stderr
    assert "'llama' is not CLUSTER/NAMESPACE/KIND[.GROUP]/NAME" in done.stderr


@pytest.mark.django_db
def test_the_wait_and_earlier_verdicts_are_printed() -> None:
    now = timezone.now()
    begin = now - timedelta(minutes=50)
    gang = make_gang(make_cluster(now=now), "old", now=now, created_at=begin, health="running")
    make_history(gang, begin, ("room", 30), ("images", 12), ("runs", 8))
    lines = run("eu-train/research/JobSet/old").splitlines()
    wait = "Waited 42 min before it ran: 30 min for capacity, 12 min for images and containers"
    assert wait in lines
    assert "  Typical wait: unknown, too few similar gangs have run." in lines
    timeline = lines[lines.index("Timeline, newest first") + 1 :][:3]
    assert [line[27:] for line in timeline] == [
        "Running · Running: It was said: runs.",
        "Starting · Starting for 12 min: It was said: images.",
        "Waiting · Insufficient resources for 30 min: It was said: room.",
    ]


def test_a_verdict_older_than_its_first_observation_is_marked(cluster: Cluster) -> None:
    Gang.objects.update(since_first_seen=True)
    line = "◔ Waiting · stage placement · insufficient-resources · for at least 38 min (first seen)"
    assert line in run(GANG)


def test_an_old_deleted_gang_has_its_last_state(cluster: Cluster) -> None:
    now = timezone.now()
    gang = make_gang(cluster, "older", gone_at=now - timedelta(hours=3), now=now)
    make_history(gang, now - timedelta(hours=9), ("room", 6 * 60), gone=True)
    Gang.objects.filter(pk=gang.pk).update(detail=b"", memory=b"", advice=[])
    assert run("eu-train/research/JobSet/older").startswith("Deleted 3 h ago. Last state: Waiting.")
