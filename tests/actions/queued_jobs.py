"""A Job that a queue admits by itself, on a simulated cluster, and what tests do to its queue entry."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gangboard.domain.action import Avoid
from gangboard.store.models import Action
from simulator.fleet_spec import Fleet, Gang, NodePool, QueueSpec, Role
from simulator.manifests import PodTemplate
from tests.actions.conftest import FLEET
from tests.actions.site import NAMESPACE, Site, played
from tests.actions.test_relocation import nodes_of, terms, wait_running

Json = dict[str, Any]
JOB, RIVAL = "queued", "rival"
WORKLOADS = "kueue.x-k8s.io/v1beta2"
GPUS = PodTemplate(cpu="1", gpus=2, pool="gpu", grace=1)
IN_QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def fleet(*, quota: int = 8, rivals: int = 0) -> Fleet:
    """Return the fleet of the room with a queue, an admitted Job of 4 GPUs, and Jobs of 8 GPUs that wait."""
    waiting = tuple(
        Gang(
            NAMESPACE,
            "Job",
            f"{RIVAL}-{index}",
            "waiting-for-quota",
            age="1h",
            suspended=True,
            labels=IN_QUEUE,
            roles=(Role("", GPUS, pods=quota // 2, states=("absent",)),),
        )
        for index in range(rivals)
    )
    queued = Gang(
        NAMESPACE, "Job", JOB, "running", labels=IN_QUEUE, roles=(Role("", GPUS, pods=2),)
    )
    return replace(
        FLEET,
        pools=(*FLEET.pools, NodePool("gpu", 3, gpus=8)),
        gangs=(*FLEET.gangs, queued, *waiting),
        queues=(QueueSpec("team", {"gpu": quota}, (NAMESPACE,), "all"),),
    )


def workload(site: Site, job: str = JOB) -> Json:
    uid = site.job(job)["metadata"]["uid"]
    return next(
        entry
        for entry in site.simulator.objects.list(WORKLOADS, "Workload", NAMESPACE)
        if entry["metadata"]["ownerReferences"][0]["uid"] == uid
    )


def is_admitted(site: Site, job: str = JOB) -> bool:
    conditions = workload(site, job)["status"]["conditions"]
    return {entry["type"]: entry["status"] for entry in conditions}.get("Admitted") == "True"


def set_active(site: Site, active: bool) -> None:
    """Let another client deactivate or activate the entry."""
    name = workload(site)["metadata"]["name"]
    site.simulator.objects.update(
        WORKLOADS, "Workload", name, lambda obj: obj["spec"].update(active=active), NAMESPACE
    )


def wait_for(check: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + 10
    while not check():
        assert time.monotonic() < ends_at, what
        time.sleep(0.05)


def play(site: Site, when: str, do: Callable[[], object]) -> Action:
    avoid = Avoid(tuple(nodes_of(site, JOB)))
    return played(site, when, do, verb="relocate", name=JOB, avoid=avoid)


def runs_as_before(site: Site) -> None:
    """Check that the entry is active, and that the Job runs without an exclusion."""
    assert workload(site)["spec"]["active"] is True
    assert terms(site.job(JOB)) == []
    wait_running(site, JOB)
    assert is_admitted(site)
