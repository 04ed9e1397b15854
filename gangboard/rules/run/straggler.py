"""`straggler`: for some time one pod has used its accelerators far less than the other pods of its role.

The whole gang then often waits for it in each step. The finding adds to the verdict, and needs a Prometheus source.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.measured_use import Straggler
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for the unit of the straggler, if it is complete."""
    straggler = unit.gang.use_alert.straggler
    if straggler is None or not unit.is_full:
        return None
    pod = next((pod for pod in unit.ready if pod.meta.ref.name == straggler.pod), None)
    if pod is None:
        return None
    source = pod.meta.ref
    return unit_finding(
        RULE,
        unit,
        f"Pod {source.name} uses {straggler.percent:.0f} % of its accelerators, its "
        f"{straggler.siblings} siblings {straggler.siblings_percent:.0f} % (median).",
        advice=_advice(pod, source),
        evidence=_evidence(straggler, pod, source),
        since=straggler.since,
        named=False,
    )


def _evidence(straggler: Straggler, pod: Pod, source: ObjectRef) -> tuple[Evidence, ...]:
    node = (Evidence("spec.nodeName", pod.node, source),) if pod.node else ()
    return (
        Evidence("use of accelerators", f"{straggler.percent:.0f} %", source),
        Evidence("median of its role", f"{straggler.siblings_percent:.0f} %", source),
        *node,
    )


def _advice(pod: Pod, source: ObjectRef) -> tuple[AdvisedStep, ...]:
    logs = command(
        "kubectl logs -n {} {} --all-containers --tail=50", source.namespace, source.name
    )
    steps = [
        AdvisedStep(f"Check in the log of pod {source.name} why it lags.", AdviceKind.LOOK, logs)
    ]
    if pod.node:
        steps.append(
            AdvisedStep(
                f"Check the accelerators of node {pod.node}: errors, temperature and clock.",
                AdviceKind.LOOK,
            )
        )
    return tuple(steps)


RULE = UnitRule(
    "straggler",
    Stage.RUN,
    "A pod lags",
    99,
    find,
    health=Health.DEGRADED,
    is_additional=True,
    for_use_alerts=True,
)
