"""East: gangs that run, start, are finished, or were stopped on purpose."""

from __future__ import annotations

from simulator.fleet_spec import Gang, Role
from simulator.manifests import PodTemplate

_DRIVER = PodTemplate(cpu="8", memory="32Gi", pool="cpu", image="registry.example/ml/driver:26.10")
_RESEARCH = ("research", 100)

RUNNING = (
    Gang(
        "team-nlp",
        "JobSet",
        "llama-ft",
        "running",
        age="3d4h",
        max_restarts=3,
        roles=(
            Role("driver", _DRIVER),
            Role(
                "workers",
                PodTemplate(gpus=8, cpu="64", memory="512Gi", pool="h100"),
                jobs=2,
                pods=2,
            ),
        ),
    ),
    Gang(
        "team-nlp",
        "Job",
        "embed-corpus",
        "running",
        age="19h",
        quorum=2,
        roles=(Role("", PodTemplate(gpus=8, cpu="64", pool="h100", priority=_RESEARCH), pods=2),),
        minors=("1.37", "plain"),
    ),
    Gang(
        "team-vision",
        "Job",
        "vit-sweep",
        "running",
        age="2d1h",
        roles=(
            Role(
                "",
                PodTemplate(gpus=2, cpu="8", pool="l40s"),
                pods=6,
                nodes=tuple(f"l40s-{number}" for number in range(1, 7)),
            ),
        ),
    ),
    Gang(
        "team-infra",
        "JobSet",
        "moe-serve",
        "running",
        age="9d",
        roles=(
            Role("prefill", PodTemplate(gpus=2, pool="a100"), jobs=1, pods=2, quorum=2),
            Role("decode", PodTemplate(gpus=2, pool="a100"), jobs=1, pods=2, quorum=2),
        ),
        minors=("1.37",),
    ),
    Gang(
        "team-infra",
        "PodGroup",
        "nccl-ring",
        "running",
        age="6h",
        quorum=3,
        roles=(Role("", PodTemplate(cpu="4", pool="cpu"), pods=3),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "Pod",
        "debug-shell",
        "running",
        age="2h",
        roles=(Role("", PodTemplate(cpu="1", memory="2Gi", pool="cpu")),),
    ),
    Gang(
        "team-speech",
        "Job",
        "tts-clone",
        "resizing",
        age="7h",
        started="40s",
        quorum=2,
        roles=(
            Role(
                "",
                PodTemplate(gpus=1, pool="a100"),
                pods=4,
                states=("running", "running", "creating", "creating"),
            ),
        ),
        minors=("1.37",),
    ),
    Gang(
        "team-nlp",
        "Job",
        "tokenizer-train",
        "starting",
        age="75s",
        roles=(Role("", PodTemplate(cpu="16", pool="cpu"), pods=2, states=("creating",)),),
    ),
)

STOPPED = (
    Gang(
        "team-speech",
        "JobSet",
        "asr-stream",
        "suspended",
        age="1d6h",
        started="5h",
        suspended=True,
        roles=(Role("driver", _DRIVER), Role("workers", PodTemplate(gpus=4, pool="a100"), pods=4)),
    ),
    Gang(
        "team-rl",
        "Job",
        "reward-probe",
        "suspended",
        age="11h",
        started="9h",
        suspended=True,
        quorum=4,
        roles=(Role("", PodTemplate(gpus=1, pool="a100"), pods=4),),
    ),
    Gang(
        "team-nlp",
        "JobSet",
        "mixtral-align",
        "job-suspended",
        age="22h",
        started="21h",
        max_restarts=2,
        roles=(
            Role("driver", _DRIVER),
            Role("workers", PodTemplate(gpus=2, pool="a100"), jobs=2, pods=2, held=(1,)),
        ),
    ),
    Gang(
        "research",
        "JobSet",
        "retrieval-ft",
        "queue-evaluating",
        age="34m",
        suspended=True,
        labels={"kueue.x-k8s.io/queue-name": "gpu-research"},
        roles=(Role("driver", _DRIVER), Role("workers", PodTemplate(gpus=8, pool="a100"), pods=4)),
    ),
)

FINISHED = (
    Gang(
        "research",
        "JobSet",
        "flan-repro",
        "succeeded",
        age="1d2h",
        finish="AllJobsCompleted",
        roles=(
            Role("driver", _DRIVER, states=("succeeded",)),
            Role("workers", PodTemplate(gpus=4, pool="a100"), pods=4, states=("succeeded",)),
        ),
    ),
    Gang(
        "research",
        "Job",
        "eval-suite",
        "succeeded",
        age="3h",
        finish="CompletionsReached",
        roles=(Role("", PodTemplate(gpus=1, pool="a100"), pods=3, states=("succeeded",)),),
    ),
    Gang(
        "research",
        "JobSet",
        "gnn-paper",
        "failed",
        age="8h",
        finish="ReachedMaxRestarts",
        restarts=3,
        max_restarts=3,
        started="7h",
        roles=(
            # The JobSet controller deletes running Jobs when a JobSet fails.
            Role("driver", _DRIVER, jobs_exist=False),
            Role("workers", PodTemplate(gpus=4, pool="a100"), pods=2, states=("failed",)),
        ),
    ),
    Gang(
        "research",
        "Job",
        "ablation-17",
        "failed",
        age="5h",
        finish="BackoffLimitExceeded",
        failed_pods=7,
        roles=(Role("", PodTemplate(gpus=1, pool="a100"), pods=2, states=("failed",)),),
    ),
)
