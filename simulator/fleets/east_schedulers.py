"""East: gangs of other schedulers, which have placement rules of their own."""

from __future__ import annotations

from dataclasses import replace

from simulator.fleet_spec import Gang, Role, ScriptedEvent
from simulator.manifests import PodTemplate

_CPU = PodTemplate(cpu="4", pool="cpu")


def _application(name: str) -> PodTemplate:
    """Return the pod template of a YuniKorn application."""
    labels = {"yunikorn.apache.org/app-id": name, "yunikorn.apache.org/queue": "root.etl"}
    return replace(_CPU, scheduler="yunikorn", labels=labels)


OTHER_SCHEDULERS = (
    Gang(
        "research",
        "Job",
        "mnist-sweep",
        "running",
        api="batch.volcano.sh",
        age="3h",
        roles=(Role("driver", _CPU), Role("worker", _CPU, pods=3)),
    ),
    Gang(
        "research",
        "Job",
        "graph-sweep",
        "queue-evaluating",
        api="batch.volcano.sh",
        age="6m",
        roles=(Role("worker", _CPU, pods=4),),
    ),
    Gang(
        "research",
        "Job",
        "audio-sweep",
        "suspended",
        api="batch.volcano.sh",
        age="1d",
        suspended=True,
        roles=(Role("worker", _CPU, pods=2),),
    ),
    Gang(
        "research",
        "PodGroup",
        "ring-allreduce",
        "running",
        api="scheduling.x-k8s.io",
        age="5h",
        quorum=2,
        roles=(Role("", _CPU, pods=2),),
    ),
    Gang(
        "research",
        "PodGroup",
        "pg-speech",
        "exceeds-quota",
        api="scheduling.run.ai",
        age="25m",
        roles=(Role("", PodTemplate(gpus=1, pool="b100"), pods=4, states=("silent",)),),
    ),
    Gang(
        "research",
        "Job",
        "etl-join",
        "running",
        age="70m",
        roles=(Role("", _application("etl-join"), pods=2),),
    ),
    Gang(
        "research",
        "Job",
        "etl-nightly",
        "waiting-for-quota",
        age="17m",
        roles=(Role("", _application("etl-nightly"), pods=2, states=("silent",)),),
        events=(
            ScriptedEvent(
                "Informational",
                "Request '6f1d2c1e-0a57-4a52-9a63-2f2d9c6f6a10' does not fit in queue 'root.etl' (requested "
                "map[memory:17179869184 pods:1 vcore:4000], available map[vcore:1500])",
                "yunikorn",
                warning=False,
                on="pods",
            ),
        ),
    ),
)
