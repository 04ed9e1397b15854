"""Random cohorts with running and waiting gangs, for comparisons of the forecast with a real Kueue."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.queues import KUEUE, cluster_queue, local_queue, resource_flavor
from tests.queues.places import Place

_PREEMPTION = ("Never", "Never", "Any", "LowerPriority")


def build(place: Place, seed: int) -> list[str]:
    """Create flavors, Cohorts, ClusterQueues and LocalQueues. Return the names of the LocalQueues."""
    random = Random(seed)
    flavors = [f"{place.name}-{name}" for name in ("x", "y")[: random.randint(1, 2)]]
    place.make(*(resource_flavor(name) for name in flavors))
    top, low = f"{place.name}-top", f"{place.name}-low"
    for name, parent in ((top, {}), (low, {"parentName": top})):
        cohort_spec: Json = dict(parent)
        if random.random() < 0.5:
            cohort_spec["resourceGroups"] = _groups(random, flavors, is_lent=False)
        cohort = {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}}
        place.make({**cohort, "spec": cohort_spec})
    names = [f"q{index}" for index in range(random.randint(1, 3))]
    for name in names:
        above = random.choice((top, low, low, None))
        spec: dict[str, Any] = {
            "resourceGroups": _groups(random, flavors, is_lent=above is not None),
            "queueingStrategy": random.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
            "flavorFungibility": {
                "whenCanBorrow": random.choice(("MayStopSearch", "TryNextFlavor")),
                "whenCanPreempt": random.choice(("MayStopSearch", "TryNextFlavor")),
            },
            "preemption": {"reclaimWithinCohort": random.choice(_PREEMPTION)},
        }
        if above is not None:
            spec["cohortName"] = above
        place.make(cluster_queue(f"{place.name}-{name}", {}, spec=spec))
        place.client.create(local_queue(name, place.name, cluster_queue=f"{place.name}-{name}"))
    return names


def _groups(random: Random, flavors: list[str], *, is_lent: bool) -> list[Json]:
    quotas = []
    for flavor in flavors:
        nominal = random.randint(0, 4)
        quota: Json = {"name": "cpu", "nominalQuota": str(nominal)}
        for limit, most in (("borrowingLimit", 3), ("lendingLimit", nominal)):
            if is_lent and random.random() < 0.4:
                quota[limit] = str(random.randint(0, most))
        quotas.append({"name": flavor, "resources": [quota]})
    return [{"coveredResources": ["cpu"], "flavors": quotas}]


def runs(seed: int, queues: list[str]) -> list[tuple[str, int]]:
    """Return (queue, pods) of the gangs that exist before, and at last of the gang that is foreseen."""
    random = Random(-seed - 1)
    return [(random.choice(queues), random.randint(1, 4)) for _ in range(random.randint(2, 5))]
