"""West: a smaller, older cluster (1.36) without the Hold. Its child Jobs get groups of their own."""

from __future__ import annotations

from simulator.fleet_spec import Gang, QueueSpec, Role
from simulator.manifests import PodTemplate

_DRIVER = PodTemplate(cpu="8", memory="32Gi", pool="cpu", image="registry.example/ml/driver:26.10")
_A100 = PodTemplate(gpus=8, cpu="64", memory="256Gi", pool="a100")
_T4 = PodTemplate(gpus=2, pool="t4")

_QUEUE = "kueue.x-k8s.io/queue-name"

QUEUES = (
    QueueSpec("ads-gpu", {"l4": 4}, ("team-ads",), cohort="west"),
    QueueSpec("maps-gpu", {"l4": 4}, ("team-maps",), cohort="west"),
    QueueSpec("batch", {"a100": 8}, ("team-maps",), cohort="night", stop_policy="Hold"),
)

GANGS = (
    Gang(
        "team-ads",
        "JobSet",
        "ctr-ranker",
        "running",
        age="6d",
        max_restarts=5,
        restarts=1,
        started="2d",
        roles=(Role("driver", _DRIVER), Role("workers", _A100, jobs=2, pods=2)),
    ),
    Gang(
        "team-ads",
        "Job",
        "lookalike-embed",
        "running",
        age="10h",
        roles=(Role("", _T4, pods=4),),
    ),
    Gang(
        "team-ads",
        "Job",
        "ads-llm-sft",
        "exceeds-capacity",
        age="5h20m",
        roles=(Role("", _A100, pods=8, states=("unschedulable",)),),
        minors=("1.36",),
    ),
    Gang(
        "team-maps",
        "JobSet",
        "road-segmenter",
        "partly-placed",
        age="3h",
        roles=(
            Role(
                "tiles",
                PodTemplate(gpus=3, pool="t4"),
                jobs=3,
                states=("running", "running", "unschedulable"),
                nodes=("t4-3", "t4-4"),
            ),
        ),
    ),
    Gang(
        "team-maps",
        "JobSet",
        "lidar-pretrain",
        "suspended",
        age="2d",
        started="1d",
        suspended=True,
        roles=(Role("driver", _DRIVER), Role("workers", _A100, pods=2)),
    ),
    Gang(
        "team-maps",
        "Job",
        "geo-tokenizer",
        "crash-loop",
        age="51m",
        roles=(
            Role(
                "",
                PodTemplate(cpu="8", pool="cpu", restart_policy="OnFailure"),
                pods=2,
                states=("crash-loop",),
                backoff_limit=20,
            ),
        ),
    ),
    Gang(
        "team-maps",
        "JobSet",
        "poi-matcher",
        "failed",
        age="20h",
        finish="FailedJobs",
        roles=(Role("workers", PodTemplate(cpu="8", pool="cpu"), pods=2, states=("failed",)),),
    ),
    Gang(
        "team-maps",
        "Job",
        "tile-render",
        "succeeded",
        age="9h",
        finish="CompletionsReached",
        roles=(Role("", PodTemplate(cpu="8", pool="cpu"), pods=4, states=("succeeded",)),),
    ),
    Gang(
        "team-ads",
        "Job",
        "bid-simulator",
        "starting",
        age="95s",
        roles=(Role("", PodTemplate(cpu="16", pool="cpu"), pods=2, states=("creating",)),),
    ),
    Gang(
        "team-ads",
        "JobSet",
        "query-rewriter",
        "running",
        age="7h",
        labels={_QUEUE: "ads-gpu"},
        roles=(Role("workers", PodTemplate(gpus=1, pool="l4"), pods=6),),
    ),
    Gang(
        "team-ads",
        "JobSet",
        "creative-tagger",
        "waiting-for-quota",
        age="2h10m",
        suspended=True,
        labels={_QUEUE: "ads-gpu"},
        roles=(
            Role("workers", PodTemplate(gpus=1, pool="l4", priority=("production", 1000)), pods=4),
        ),
    ),
    Gang(
        "team-ads",
        "JobSet",
        "cold-start",
        "waiting-for-quota",
        age="4h",
        suspended=True,
        labels={_QUEUE: "ads-gpu"},
        roles=(Role("workers", PodTemplate(gpus=1, pool="l4"), pods=3),),
    ),
    Gang(
        "team-maps",
        "JobSet",
        "world-model",
        "exceeds-quota",
        age="1h15m",
        suspended=True,
        labels={_QUEUE: "maps-gpu"},
        roles=(Role("workers", PodTemplate(gpus=2, pool="l4"), pods=8),),
    ),
    Gang(
        "team-maps",
        "JobSet",
        "night-tiles",
        "queue-stopped",
        age="9h",
        suspended=True,
        labels={_QUEUE: "batch"},
        roles=(Role("workers", PodTemplate(gpus=8, pool="a100"), pods=1),),
    ),
)
