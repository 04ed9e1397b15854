"""East: gangs that use capacity without being whole, or whose containers do not start."""

from __future__ import annotations

from simulator.fleet_spec import Gang, Role
from simulator.manifests import PodTemplate

_DRIVER = PodTemplate(cpu="8", memory="32Gi", pool="cpu", image="registry.example/ml/driver:26.10")
_TYPO = "registry.example/ml/sam-distil:latest"

TROUBLED = (
    Gang(
        "team-rl",
        "JobSet",
        "rl-sweep",
        "partly-placed",
        age="2h5m",
        roles=(
            Role(
                "trials",
                PodTemplate(gpus=5, pool="v100"),
                jobs=4,
                pods=1,
                states=("running", "running", "unschedulable"),
                backoff_limit=3,
            ),
        ),
    ),
    Gang(
        "team-rl",
        "Job",
        "sim-rollouts",
        "below-size",
        age="9h",
        quorum=2,
        roles=(
            Role(
                "",
                PodTemplate(gpus=4, pool="a10g", cpu="16"),
                pods=3,
                states=("running", "running", "unschedulable"),
                nodes=("a10g-1", "a10g-2"),
            ),
        ),
        minors=("1.37",),
    ),
    Gang(
        "team-rl",
        "Job",
        "dreamer-sim",
        "lost-members",
        age="1d8h",
        started="48m",
        quorum=2,
        failed_pods=1,
        roles=(
            Role(
                "",
                PodTemplate(gpus=4, pool="a10g", cpu="16"),
                pods=2,
                states=("running", "unschedulable"),
                nodes=("a10g-3",),
            ),
        ),
        minors=("1.37",),
    ),
    Gang(
        "team-speech",
        "Job",
        "whisper-large",
        "node-lost",
        age="1d15h",
        started="14m",
        quorum=2,
        roles=(
            Role(
                "",
                PodTemplate(gpus=8, cpu="64", pool="h100"),
                pods=2,
                states=("running", "node-lost"),
                nodes=("h100-7", "h100-8"),
            ),
        ),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "Job",
        "shuffle-bench",
        "termination-stuck",
        age="1d2h",
        started="14m",
        quorum=2,
        roles=(
            Role(
                "",
                PodTemplate(cpu="16", pool="h100"),
                pods=2,
                states=("running", "kept"),
                nodes=("h100-7", "h100-8"),
            ),
        ),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-vision",
        "JobSet",
        "dino-pretrain",
        "restarting",
        age="15h",
        started="50s",
        restarts=2,
        max_restarts=3,
        restarting=True,
        roles=(
            Role("driver", _DRIVER),
            Role("workers", PodTemplate(gpus=4, pool="a100"), pods=2, states=("creating",)),
        ),
    ),
    Gang(
        "team-vision",
        "JobSet",
        "sam-distill",
        "image-pull",
        age="24m",
        roles=(
            Role("driver", _DRIVER),
            Role(
                "workers",
                PodTemplate(gpus=1, pool="a100", image=_TYPO),
                pods=2,
                states=("image-pull",),
            ),
        ),
    ),
    Gang(
        "team-vision",
        "Job",
        "yolo-export",
        "crash-loop",
        age="1h31m",
        roles=(
            Role(
                "",
                PodTemplate(gpus=1, pool="a100", restart_policy="OnFailure"),
                pods=2,
                states=("crash-loop",),
                backoff_limit=20,
            ),
        ),
    ),
    Gang(
        "team-vision",
        "Job",
        "seg-any",
        "init-failing",
        age="43m",
        roles=(
            Role(
                "",
                PodTemplate(gpus=1, pool="a100", init=True, restart_policy="OnFailure"),
                pods=2,
                states=("init-crash-loop",),
                backoff_limit=20,
            ),
        ),
    ),
    Gang(
        "team-nlp",
        "Job",
        "sql-agent",
        "container-config",
        age="16m",
        roles=(Role("", PodTemplate(gpus=1, pool="a100"), pods=2, states=("config-error",)),),
    ),
)
