"""The fleet's objects look like those captured from a real control plane: fields, words, texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator import Simulator
from tests.controlplane.client import Client, Json
from tests.simulator.conftest import client_of

Demo = tuple[Simulator, Client]
CAPTURES = Path(__file__).parent.parent / "captures"

# Fields that differ between test clusters and simulated ones.
_IGNORED = re.compile(
    r"^(metadata\.(labels|annotations|resourceVersion|name|uid|generateName|finalizers)"
    r"|spec\.(nodeSelector|priorityClassName|template|containers\[\]\.resources|initContainers)"
    r"|status\.containerStatuses\[\]\.lastState\.terminated)"
)

PODS = [
    ("job-running", "team-vision", "vit-sweep"),
    ("job-starting", "team-nlp", "tokenizer-train"),
    ("jobset-image-pull", "team-vision", "sam-distill-workers-0"),
    ("job-container-config", "team-nlp", "sql-agent"),
    ("job-crash-loop", "team-vision", "yolo-export"),
    ("job-init-crash-loop", "team-vision", "seg-any"),
    ("job-completed", "research", "eval-suite"),
    ("job-failed", "research", "ablation-17"),
    ("job-node-silent", "team-speech", "whisper-large"),
    ("job-unschedulable", "team-nlp", "llama-70b-sft"),
    ("job-fragmented", "team-vision", "clip-eval"),
    ("job-no-matching-node", "research", "h200-tune"),
    ("job-nodes-cordoned", "research", "blackwell-smoke"),
    ("job-topology-does-not-fit", "research", "mamba-hybrid"),
    ("job-quota-refused", "team-speech", "vocoder"),
    ("job-scheduler-of-nobody", "team-speech", "wake-word"),
    ("job-at-quorum", "team-rl", "sim-rollouts"),
    ("job-member-lost", "team-rl", "dreamer-sim"),
]
JOBS = [
    ("job-running", "team-vision", "vit-sweep"),
    ("job-completed", "research", "eval-suite"),
    ("job-failed", "research", "ablation-17"),
    ("job-suspended", "team-rl", "reward-probe"),
    ("job-member-lost", "team-rl", "dreamer-sim"),
    ("job-unschedulable", "team-nlp", "llama-70b-sft"),
]
JOBSETS = [
    ("jobset-running", "team-nlp", "llama-ft"),
    ("jobset-suspended", "team-speech", "asr-stream"),
    ("jobset-completed", "research", "flan-repro"),
    ("jobset-failed-after-restarts", "research", "gnn-paper"),
    ("jobset-restarting", "team-vision", "dino-pretrain"),
    ("jobset-partly-placed", "team-rl", "rl-sweep"),
    ("jobset-depends-on", "team-rl", "selfplay"),
]


def _capture(minor: str, name: str, plural: str) -> list[Json]:
    document = json.loads((CAPTURES / minor / f"{name}.json").read_text())
    results = [
        item
        for path, items in document.items()
        if path.endswith(f"/{plural}") and "v1alpha3" not in path and "events.k8s.io" not in path
        for item in items
    ]
    assert results, (name, list(document))
    return results


def _paths(value: Any, prefix: str = "") -> set[str]:
    if isinstance(value, dict) and value:
        return {
            path
            for key, inner in value.items()
            for path in _paths(inner, f"{prefix}.{key}".lstrip("."))
        }
    if isinstance(value, list) and value:
        return {path for inner in value for path in _paths(inner, f"{prefix}[]")}
    return {prefix}


def _shape(obj: Json) -> set[str]:
    return {path for path in _paths(obj) if not _IGNORED.match(path)}


def _paths_and_values(obj: Json) -> set[tuple[Any, ...]]:
    """Conditions and waiting containers, with names and numbers taken out of their texts."""
    status = obj.get("status", {})
    result: set[tuple[Any, ...]] = {("phase", status.get("phase"))}
    for condition in status.get("conditions", []):
        text = _plain(condition.get("message"))
        result.add((condition["type"], condition["status"], condition.get("reason"), text))
    for container in status.get("containerStatuses", []):
        for state, detail in container["state"].items():
            result.add((state, detail.get("reason"), container["ready"], container["started"]))
    return result


def _plain(text: str | None) -> str | None:
    if text is None:
        return None
    text = re.sub(r"\(first failed job: [^)]*\)", "(first failed job: J)", text)
    text = re.sub(r"\[[a-z-]+\]", "[C]", text)
    # How many nodes are short of what differs from cluster to cluster: only the words must agree.
    text = re.sub(r"0/\d+ nodes are available: .*", "0/N nodes are available", text)
    return re.sub(r"\d+", "N", text)


def _agree(real: list[Json], ours: list[Json]) -> None:
    assert ours
    observed = {frozenset(_shape(item)) for item in real}
    for item in ours:
        shape = _shape(item)
        closest = min(observed, key=lambda known: len(known ^ shape))
        assert shape == closest, (shape - closest, closest - shape)
    known = set().union(*(_paths_and_values(item) for item in real))
    simulated = set().union(*(_paths_and_values(item) for item in ours))
    assert simulated <= known, simulated - known


@pytest.mark.parametrize(("name", "namespace", "job"), PODS, ids=lambda value: str(value))
def test_pods_match_the_captures(demo: Demo, name: str, namespace: str, job: str) -> None:
    ours = demo[1].list("v1", "Pod", namespace, labels=f"job-name={job}")
    _agree(_capture("1.37", name, "pods"), ours)


@pytest.mark.parametrize(("name", "namespace", "job"), JOBS, ids=lambda value: str(value))
def test_jobs_match_the_captures(demo: Demo, name: str, namespace: str, job: str) -> None:
    real = _capture("1.37", name, "jobs")
    ours = demo[1].get("batch/v1", "Job", job, namespace)
    assert _paths(ours["status"]) == _paths(real[0]["status"])
    assert _paths_and_values(ours) <= _paths_and_values(real[0])
    bare = {
        path for path in _paths(ours["spec"]) if not path.startswith(("template", "scheduling"))
    }
    known = {path for path in _paths(real[0]["spec"]) if not path.startswith(("template", "sched"))}
    assert bare == known


@pytest.mark.parametrize(("name", "namespace", "jobset"), JOBSETS, ids=lambda value: str(value))
def test_jobsets_match_the_captures(demo: Demo, name: str, namespace: str, jobset: str) -> None:
    real = _capture("1.37", name, "jobsets")[0]
    ours = demo[1].get("jobset.x-k8s.io/v1alpha2", "JobSet", jobset, namespace)
    # Restarts that count are only there when there have been some.
    assert _paths(ours["status"]) == _paths(real["status"])
    assert _paths_and_values(ours) <= _paths_and_values(real)


@pytest.mark.parametrize(
    ("name", "namespace", "prefix"),
    [
        ("job-running", "team-vision", "vit-sweep"),
        ("job-unschedulable", "team-nlp", "llama-70b-sft"),
        ("job-topology-does-not-fit", "research", "mamba-hybrid"),
        ("job-quota-refused", "team-speech", "vocoder"),
        ("group-below-quorum", "team-infra", "allreduce-bench"),
        ("group-running", "team-infra", "nccl-ring"),
    ],
)
def test_groups_match_the_captures(demo: Demo, name: str, namespace: str, prefix: str) -> None:
    real = _capture("1.37", name, "podgroups")
    version = "scheduling.k8s.io/v1beta1"
    ours = [
        item
        for item in demo[1].list(version, "PodGroup", namespace)
        if item["metadata"]["name"].startswith(prefix)
    ]
    ignored = "spec.schedulingPolicy"  # a basic one where the capture has a gang
    for item in ours:
        shape = {path for path in _shape(item) if not path.startswith(ignored)}
        assert shape == {path for path in _shape(real[0]) if not path.startswith(ignored)}
        assert _paths_and_values(item) <= _paths_and_values(real[0])


def test_workloads_and_composites_match_the_captures(demo: Demo) -> None:
    _, client = demo
    real = _capture("1.37", "job-running", "workloads")[0]
    ours = client.list("scheduling.k8s.io/v1beta1", "Workload", "team-nlp")[0]
    assert _shape(ours) - {"spec.podGroupTemplates[].schedulingPolicy.basic"} <= _shape(real)
    tree = client.get("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "moe-serve", "team-infra")
    document = json.loads((CAPTURES / "1.37" / "group-composite.json").read_text())
    composite = document["/apis/scheduling.k8s.io/v1alpha3/compositepodgroups"][0]
    added = {path for path in _shape(tree) if path.startswith("metadata.ownerReferences")}
    assert _shape(tree) - added == _shape(composite)


def test_the_older_minor_uses_its_own_field_names(tmp_path: Path) -> None:
    with Simulator("west", story=False) as simulator:
        client = client_of(simulator, tmp_path)
        pods = client.list("v1", "Pod", "team-ads", labels="job-name=ads-llm-sft")
        _agree(_capture("1.36", "job-unschedulable", "pods"), pods)
        real = _capture("1.36", "job-unschedulable", "podgroups")[0]
        ours = [
            item
            for item in client.list("scheduling.k8s.io/v1alpha2", "PodGroup", "team-ads")
            if item["metadata"]["name"].startswith("ads-llm-sft")
        ]
        assert _shape(ours[0]) == _shape(real)
        assert _paths_and_values(ours[0]) == _paths_and_values(real)


def test_events_match_the_captures(demo: Demo) -> None:
    _, client = demo
    ours = {item["reason"]: item for item in client.list("v1", "Event")}
    for name, reason in (
        ("job-running", "Scheduled"),
        ("job-unschedulable", "FailedScheduling"),
        ("job-quota-refused", "FailedCreate"),
    ):
        real = {item["reason"]: item for item in _capture("1.37", name, "events")}[reason]
        extra = {"series.count", "series.lastObservedTime", "involvedObject.resourceVersion"}
        assert _paths(ours[reason]) - extra == _paths(real) - extra, reason
        same = ("type", "reportingComponent", "source", "action")
        assert [ours[reason].get(key) for key in same] == [real.get(key) for key in same]
