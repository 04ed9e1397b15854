"""`idle-accelerators`: the gang runs whole, and for some time no pod has used its accelerators.

The finding adds to the verdict, because every pod is ready. It needs a Prometheus source (docs/clusters.md). Without one,
or while it does not answer, the use is unknown and there is no finding.
"""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding about the whole gang, the same for each of its complete units."""
    since = unit.gang.use_alert.idle_since
    ready = len(unit.gang.ready_pods)
    if since is None or not unit.is_full or ready + _succeeded(unit.gang) < unit.owner.desired:
        return None
    finding = unit_finding(
        RULE,
        unit,
        f"{unit.gang.name} is whole, but {_none_of(ready)} uses its accelerators.",
        advice=_look_at_log(unit),
        evidence=(
            Evidence("use of accelerators", "none", unit.owner.meta.ref),
            Evidence("pods ready", str(ready), unit.owner.meta.ref),
        ),
        since=since,
        named=False,
    )
    return replace(finding, unit="")


def _succeeded(gang: Gang) -> int:
    return sum(pod.phase == "Succeeded" for pod in gang.pods)


def _none_of(pods: int) -> str:
    return f"none of its {pods} pods" if pods > 1 else "its pod never"


def _look_at_log(unit: Unit) -> tuple[AdvisedStep, ...]:
    pods = sorted(pod.meta.ref.name for pod in unit.gang.pods if pod.is_ready)
    if not pods:
        return ()
    namespace = unit.owner.meta.ref.namespace
    logs = command("kubectl logs -n {} {} --all-containers --tail=50", namespace, pods[0])
    text = f"Check in the log of pod {pods[0]} whether it waits for data or for another pod."
    return (AdvisedStep(text, AdviceKind.LOOK, logs),)


RULE = UnitRule(
    "idle-accelerators",
    Stage.RUN,
    "Accelerators are idle",
    98,
    find,
    health=Health.DEGRADED,
    is_additional=True,
    for_use_alerts=True,
)
