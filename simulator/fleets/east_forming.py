"""East: gangs whose pods or groups are missing or incomplete."""

from __future__ import annotations

from simulator.fleet_spec import Gang, Role, ScriptedEvent
from simulator.manifests import PodTemplate

_CPU = PodTemplate(cpu="4", pool="cpu")
_ONE = PodTemplate(gpus=1, pool="a100")
_QUOTA = (
    'Error creating: pods "vocoder-2-k8bxx" is forbidden: exceeded quota: gpu-quota, requested: '
    "requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=2"
)
_LONG = "nightly-regression-of-all-kernels-with-and-without-fusion-60"
_LONG_TEXT = (
    f"Failed to create Workload for Job {_LONG}: Workload.scheduling.k8s.io "
    f'"{_LONG}-6bf4cf49dc" is invalid: spec.podGroupTemplates[0].name: Invalid value: '
    f'"{_LONG}-pgt-0": must be no more than 63 bytes'
)

FORMING = (
    Gang(
        "team-infra",
        "Job",
        "burn-in",
        "pods-not-created",
        age="12m",
        quorum=4,
        roles=(Role("", _ONE, pods=4, states=("absent",)),),
    ),
    Gang(
        "team-speech",
        "Job",
        "vocoder",
        "pod-creation-refused",
        age="52m",
        quorum=4,
        roles=(Role("", _ONE, pods=4, states=("silent", "silent", "absent")),),
        events=(ScriptedEvent("FailedCreate", _QUOTA, "job-controller", count=9),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "Job",
        _LONG,
        "group-creation-failed",
        age="6h",
        quorum=4,
        group="none",
        roles=(Role("", _ONE, pods=4, states=("absent",)),),
        events=(ScriptedEvent("FailedWorkloadCreate", _LONG_TEXT, "job-controller", count=14),),
        minors=("1.37",),
    ),
    Gang(
        "team-rl",
        "JobSet",
        "selfplay",
        "dependency-waiting",
        age="47m",
        roles=(
            Role("replay-prep", PodTemplate(cpu="16", pool="cpu")),
            Role(
                "learners",
                PodTemplate(gpus=4, pool="a100"),
                pods=4,
                depends_on={"replay-prep": "Complete"},
                jobs_exist=False,
            ),
        ),
    ),
    Gang(
        "team-rl",
        "JobSet",
        "muzero-league",
        "quorum-deadlock",
        age="3h10m",
        quorum=5,
        roles=(
            Role("driver", PodTemplate(cpu="8", group="muzero-league"), states=("silent",)),
            Role(
                "actors",
                PodTemplate(gpus=1, pool="a100", group="muzero-league"),
                pods=4,
                depends_on={"driver": "Ready"},
                jobs_exist=False,
            ),
        ),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "PodGroup",
        "allreduce-bench",
        "below-quorum",
        age="26m",
        quorum=4,
        roles=(Role("", _CPU, pods=2, states=("silent",)),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-rl",
        "Job",
        "ppo-arena",
        "quorum-lost",
        age="14h",
        started="50m",
        quorum=4,
        failed_pods=1,
        roles=(Role("", _ONE, pods=4, states=("succeeded", "succeeded", "running", "silent")),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "Job",
        "orphan-ring",
        "podgroup-missing",
        age="1h5m",
        group="missing",
        roles=(Role("", PodTemplate(cpu="4", group="ring-0"), pods=2, states=("silent",)),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-infra",
        "Job",
        "stale-ring",
        "podgroup-terminating",
        age="41m",
        quorum=2,
        group="going",
        roles=(Role("", PodTemplate(cpu="4", group="stale-ring"), pods=2, states=("silent",)),),
        minors=("1.37", "1.36"),
    ),
    Gang(
        "team-rl",
        "Job",
        "rlhf-reward",
        "not-ganged",
        age="4h",
        quorum=4,
        group="none",
        roles=(Role("", PodTemplate(gpus=1, pool="a100"), pods=4),),
        minors=("1.37",),
    ),
)
