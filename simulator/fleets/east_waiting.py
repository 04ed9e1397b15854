"""East: gangs that the scheduler cannot place, refuses, or never sees."""

from __future__ import annotations

from simulator.fleet_spec import Gang, Role, ScriptedEvent
from simulator.manifests import PodTemplate

_BIG = PodTemplate(gpus=8, cpu="64", memory="512Gi", pool="h100")
_NEW = ("1.37", "1.36")
_LICENSE = "0/49 nodes are available: 49 node(s) didn't satisfy plugin(s) [LicenseSeats]."
_CLAIMS = 'error in "DynamicResources" PodGroupPostFilter plugins: not found'

REFUSED = (
    Gang(
        "team-speech",
        "Job",
        "diarize",
        "scheduling-gated",
        age="18m",
        quorum=3,
        roles=(
            Role(
                "",
                PodTemplate(gpus=1, pool="a100", gates=("example.com/budget-approval",)),
                pods=3,
                states=("gated",),
            ),
        ),
        minors=_NEW,
    ),
    Gang(
        "team-speech",
        "Job",
        "wake-word",
        "not-attempted",
        age="33m",
        quorum=2,
        roles=(
            Role("", PodTemplate(gpus=1, scheduler="batch-scheduler"), pods=2, states=("silent",)),
        ),
        minors=_NEW,
    ),
    Gang(
        "team-infra",
        "PodGroup",
        "ring-test",
        "mixed-schedulers",
        age="21m",
        quorum=3,
        roles=(
            Role("a", PodTemplate(cpu="4", pool="cpu"), pods=2, states=("silent",)),
            Role("b", PodTemplate(cpu="4", scheduler="volcano"), states=("silent",)),
        ),
        minors=_NEW,
    ),
    Gang(
        "team-infra",
        "Job",
        "dra-probe",
        "scheduler-error",
        age="55m",
        quorum=2,
        group="error",
        error=_CLAIMS,
        roles=(Role("", PodTemplate(cpu="8"), pods=2, states=("error",)),),
        minors=("1.37",),
    ),
    Gang(
        "research",
        "Job",
        "license-sim",
        "unschedulable",
        age="1h20m",
        quorum=3,
        error=_LICENSE,
        roles=(Role("", PodTemplate(cpu="16", pool="cpu"), pods=3, states=("unschedulable",)),),
        minors=_NEW,
    ),
)

NO_ROOM = (
    Gang(
        "team-nlp",
        "Job",
        "llama-70b-sft",
        "insufficient-resources",
        age="2h40m",
        quorum=4,
        roles=(Role("", _BIG, pods=4, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "team-vision",
        "Job",
        "clip-eval",
        "fragmented",
        age="1h12m",
        quorum=3,
        roles=(Role("", PodTemplate(gpus=3, pool="l40s"), pods=3, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "research",
        "Job",
        "gpt-giant",
        "exceeds-capacity",
        age="1d3h",
        quorum=12,
        roles=(Role("", _BIG, pods=12, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "research",
        "Job",
        "mamba-hybrid",
        "topology-does-not-fit",
        age="3h50m",
        quorum=3,
        topology="example.com/nvlink-domain",
        roles=(Role("", PodTemplate(gpus=4, pool="gh200"), pods=3, states=("unschedulable",)),),
        minors=("1.37",),
    ),
    Gang(
        "research",
        "Job",
        "blackwell-smoke",
        "nodes-unschedulable",
        age="1h44m",
        quorum=2,
        roles=(Role("", PodTemplate(gpus=8, pool="b200"), pods=2, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "research",
        "Job",
        "spot-eval",
        "untolerated-taint",
        age="37m",
        quorum=2,
        roles=(Role("", PodTemplate(gpus=4, pool="spot"), pods=2, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "research",
        "Job",
        "h200-tune",
        "no-matching-node",
        age="29m",
        quorum=2,
        roles=(Role("", PodTemplate(gpus=8, pool="h200"), pods=2, states=("unschedulable",)),),
        minors=_NEW,
    ),
    Gang(
        "team-vision",
        "Job",
        "sora-lite",
        "waiting-for-nodes",
        age="4m",
        quorum=2,
        roles=(Role("", PodTemplate(gpus=8, pool="h200-flex"), pods=2, states=("unschedulable",)),),
        events=(
            ScriptedEvent(
                "TriggeredScaleUp",
                "pod triggered scale-up: [{h200-flex 0->2 (max: 8)}]",
                "cluster-autoscaler",
                warning=False,
                on="pods",
            ),
        ),
        minors=_NEW,
    ),
)
