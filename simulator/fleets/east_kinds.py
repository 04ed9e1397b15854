"""East: gangs of kinds that create Jobs or pods. Each kind has three gangs in different states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.fleet_spec import Gang, Role
from simulator.manifests import PodTemplate

_WHOLE = PodTemplate(gpus=8, cpu="64", memory="512Gi", pool="b100")
_HALF = PodTemplate(gpus=4, cpu="32", memory="256Gi", pool="b100")
_CPU = PodTemplate(cpu="4", pool="cpu")


def _cronjob(name: str, schedule: str, policy: str) -> dict[str, Any]:
    spec = {
        "concurrencyPolicy": policy,
        "failedJobsHistoryLimit": 1,
        "schedule": schedule,
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }
    return {"kind": "CronJob", "metadata": {"name": name}, "spec": spec}


TRAINJOBS = (
    Gang(
        "team-nlp",
        "TrainJob",
        "gpt-sft",
        "running",
        age="1d9h",
        roles=(
            Role("dataset-initializer", _CPU, states=("succeeded",)),
            Role("node", _WHOLE, pods=2, depends_on={"dataset-initializer": "Complete"}),
        ),
    ),
    Gang(
        "team-nlp",
        "TrainJob",
        "qwen-align",
        "dependency-waiting",
        age="9m",
        roles=(
            Role("dataset-initializer", _CPU),
            Role(
                "node",
                _WHOLE,
                pods=4,
                depends_on={"dataset-initializer": "Complete"},
                jobs_exist=False,
            ),
        ),
    ),
    Gang(
        "team-vision",
        "TrainJob",
        "sdxl-ft",
        "suspended",
        age="2d6h",
        started="20h",
        suspended=True,
        roles=(Role("node", _HALF, pods=2),),
    ),
)

SETS = (
    Gang(
        "serving",
        "LeaderWorkerSet",
        "llama-405b",
        "running",
        age="12d",
        roles=(Role("", _HALF, jobs=2, pods=2),),
    ),
    Gang(
        "serving",
        "LeaderWorkerSet",
        "llama-70b",
        "partly-placed",
        age="35m",
        roles=(
            Role(
                "",
                _WHOLE,
                jobs=2,
                pods=2,
                states=("running", "running", "running", "unschedulable"),
            ),
        ),
    ),
    Gang(
        "serving",
        "LeaderWorkerSet",
        "embedder",
        "starting",
        age="50s",
        roles=(Role("", _CPU, pods=2, states=("running", "creating")),),
    ),
    Gang(
        "serving",
        "DisaggregatedSet",
        "chat",
        "running",
        age="4d",
        roles=(Role("prefill", _HALF, pods=2), Role("decode", _HALF, pods=2)),
    ),
    Gang(
        "serving",
        "DisaggregatedSet",
        "chat-next",
        "image-pull",
        age="14m",
        roles=(
            Role("prefill", _CPU, pods=2),
            Role("decode", _CPU, pods=2, states=("image-pull",)),
        ),
    ),
    Gang(
        "serving",
        "DisaggregatedSet",
        "chat-spot",
        "untolerated-taint",
        age="1h5m",
        roles=tuple(
            Role(name, PodTemplate(gpus=2, pool="spot"), states=("unschedulable",))
            for name in ("prefill", "decode")
        ),
    ),
)

CLIQUES = (
    Gang(
        "serving",
        "PodCliqueSet",
        "rag",
        "running",
        age="6d",
        roles=(Role("prefill", _CPU, pods=2), Role("decode", _CPU, pods=3, quorum=1)),
    ),
    Gang(
        "serving",
        "PodCliqueSet",
        "rag-next",
        "image-pull",
        age="22m",
        roles=(
            Role("prefill", _CPU, pods=2),
            Role("decode", _CPU, pods=2, states=("image-pull",)),
        ),
    ),
    Gang(
        "serving",
        "PodCliqueSet",
        "rag-70b",
        "insufficient-resources",
        age="41m",
        roles=(Role("decode", _WHOLE, pods=2, states=("unschedulable",)),),
    ),
)

RUNS = (
    Gang(
        "research",
        "Job",
        "nightly-eval-29400120",
        "running",
        age="2h",
        roles=(Role("", _CPU, pods=2),),
        made_by=_cronjob("nightly-eval", "0 2 * * *", "Allow"),
    ),
    Gang(
        "research",
        "Job",
        "hourly-smoke-29400240",
        "suspended",
        age="50m",
        started="12m",
        suspended=True,
        roles=(Role("", _CPU, pods=2),),
        made_by=_cronjob("hourly-smoke", "0 * * * *", "Forbid"),
    ),
    Gang(
        "research",
        "Job",
        "weekly-retrain-29395680",
        "failed",
        age="1d",
        finish="BackoffLimitExceeded",
        failed_pods=7,
        roles=(Role("", _CPU, pods=2, states=("failed",)),),
        made_by=_cronjob("weekly-retrain", "0 4 * * 1", "Replace"),
    ),
)

_WITH_GROUPS = ("1.37", "1.36")
"""Without core groups, StatefulSets and Deployments are no gangs."""


def _grouped_template(group: str, template: PodTemplate = _CPU) -> PodTemplate:
    """Return the pod template of a StatefulSet or Deployment with a group."""
    return replace(template, group=group, restart_policy="Always")


GROUPED = (
    Gang(
        "research",
        "StatefulSet",
        "param-servers",
        "running",
        age="7d",
        quorum=3,
        roles=(Role("", _grouped_template("param-servers"), pods=3),),
        minors=_WITH_GROUPS,
    ),
    Gang(
        "research",
        "StatefulSet",
        "nccl-ranks",
        "quorum-deadlock",
        age="27m",
        quorum=4,
        roles=(Role("", _grouped_template("nccl-ranks"), pods=4, states=("silent", "absent")),),
        minors=_WITH_GROUPS,
    ),
    Gang(
        "serving",
        "StatefulSet",
        "vector-index",
        "insufficient-resources",
        age="52m",
        quorum=2,
        roles=(
            Role("", _grouped_template("vector-index", _WHOLE), pods=2, states=("unschedulable",)),
        ),
        minors=_WITH_GROUPS,
    ),
    Gang(
        "serving",
        "Deployment",
        "moe-shards",
        "running",
        age="3d",
        quorum=4,
        roles=(Role("", _grouped_template("moe-shards"), pods=4),),
        minors=_WITH_GROUPS,
    ),
    Gang(
        "serving",
        "Deployment",
        "moe-canary",
        "image-pull",
        age="13m",
        quorum=2,
        roles=(
            Role("", _grouped_template("moe-canary"), pods=2, states=("running", "image-pull")),
        ),
        minors=_WITH_GROUPS,
    ),
    Gang(
        "serving",
        "Deployment",
        "moe-drafts",
        "starting",
        age="45s",
        quorum=2,
        roles=(Role("", _grouped_template("moe-drafts"), pods=2, states=("creating",)),),
        minors=_WITH_GROUPS,
    ),
)
"""Each with a group that a person created."""
