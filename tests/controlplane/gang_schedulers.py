"""Schedulers that make gangs of their own PodGroups, beside the stock one of a running control plane.

coscheduling (scheduler-plugins), Volcano (scheduler and controllers), KAI (scheduler, podgrouper, binder, queue
controller) and YuniKorn (scheduler), built as `programs` says. They are started against a plane that is up and end
with the block: `started(plane)`. Their webhooks are left out, so objects are written with what those would fill in.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from tests.controlplane import yunikorn
from tests.controlplane.build import binary, manifests, missing
from tests.controlplane.client import Client, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.objects import namespace, priority_class
from tests.controlplane.processes import HOST, free_port
from tests.controlplane.supervisor import StartError, Supervisor

NAMES = ("coscheduling", "volcano", "kai", "yunikorn")
"""Their `programs.PROGRAMS`."""
COSCHEDULING, VOLCANO, KAI = (
    "scheduling.x-k8s.io/v1alpha1",
    "scheduling.volcano.sh/v1beta1",
    "scheduling.run.ai/v2alpha2",
)
"""API versions of their PodGroups."""
PLUGIN = "scheduler-plugins"
_CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_NAMESPACES = ("volcano-system", "kai-scheduler", "kai-resource-reservation", yunikorn.NAMESPACE)
_READY_SECONDS = 90.0

# The configuration of Volcano's chart, without preemption between queues
# (installer/helm/chart/volcano/config).
_VOLCANO = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


def crds(names: Sequence[str] = NAMES) -> list[Json]:
    """Return the CRDs of these schedulers. Those of coscheduling are also Trainer's."""
    result: dict[str, Json] = {}
    for name in names:
        for file in manifests(name):
            for obj in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
                if obj:
                    result[obj["metadata"]["name"]] = obj
    return list(result.values())


def require_built() -> None:
    """Skip the test where one of them is not in the cache, or fail it where CI is set."""
    if missing(NAMES):
        said = "the schedulers of other PodGroups are not built: run make controlplane"
        if os.environ.get("CI") == "true":
            pytest.fail(said)
        pytest.skip(said)


@contextmanager
def started(plane: ControlPlane, names: Sequence[str] = NAMES) -> Iterator[Client]:
    """Serve their objects and run these of them. Raises StartError with the end of a log."""
    client = plane.client
    with served(client, crds(names)):
        _prepare(client)
        supervisor = Supervisor(None)
        try:
            with plane.awake():
                _run(supervisor, plane.kubeconfig, names)
                yield client
        finally:
            supervisor.close()


@contextmanager
def served(client: Client, wanted: Sequence[Json]) -> Iterator[None]:
    """Make an API server serve these CRDs, and take those away at the end that were not there."""
    existing = {crd["metadata"]["name"] for crd in client.list(*_CRD)}
    created = [crd for crd in wanted if crd["metadata"]["name"] not in existing]
    client.create_all(created)
    for crd in created:
        name = crd["metadata"]["name"]
        client.wait_for(*_CRD, name, until=lambda item: is_true(item, "Established"))
    try:
        yield
    finally:
        for crd in created:
            client.delete(*_CRD, crd["metadata"]["name"])


def _prepare(client: Client) -> None:
    """Make the namespaces, priority classes and settings that their charts would."""
    namespaces = [namespace(name) for name in _NAMESPACES]
    classes = [priority_class("train", 50), priority_class("build", 100)]
    client.create_all([*namespaces, *classes, yunikorn.settings()])


def _run(supervisor: Supervisor, kubeconfig: Path, names: Sequence[str]) -> None:
    ready: dict[str, str] = {}
    commands = _commands(supervisor.folder, kubeconfig)
    for name, (command, address) in commands.items():
        program = name.partition("-")[0]
        if program not in names:
            continue
        argv = [str(binary(program, command[0])), *command[1:]]
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(supervisor.folder),
            "TMPDIR": str(supervisor.folder),
            "NO_PROXY": "*",
            "KUBECONFIG": str(kubeconfig),  # two of KAI's and YuniKorn have no flag for it
            **(yunikorn.ENVIRONMENT if program == "yunikorn" else {}),
            "GOGC": "300",
            "GOMEMLIMIT": "256MiB",
            "GOMAXPROCS": "1",
        }
        supervisor.start(name, argv, environment, supervisor.folder / f"{name}.log")
        ready[name] = address
    pool = urllib3.PoolManager(cert_reqs="CERT_NONE")
    urllib3.disable_warnings()
    give_up_at = time.monotonic() + _READY_SECONDS
    for name, address in ready.items():
        while not _answers(pool, address):
            log = (supervisor.folder / f"{name}.log").read_text(errors="replace")[-2000:]
            if supervisor.exit_code(name) is not None:
                raise StartError(f"{name} has ended:\n{log}")
            if time.monotonic() > give_up_at:
                raise StartError(f"{name} is not ready:\n{log}")
            time.sleep(0.05)


def _answers(pool: urllib3.PoolManager, address: str) -> bool:
    if not address:
        return True
    try:
        return bool(pool.request("GET", address, timeout=3, retries=False).status == 200)
    except urllib3.exceptions.HTTPError:
        return False


def _commands(folder: Path, kubeconfig: Path) -> Mapping[str, tuple[list[str], str]]:
    """Return name → (name of its binary and its flags, address that answers 200 once it is ready)."""
    ports = [free_port() for _ in range(9)]
    plugin = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "profiles": [
            {
                "schedulerName": PLUGIN,
                "plugins": {
                    "multiPoint": {
                        "enabled": [{"name": "Coscheduling"}],
                        "disabled": [{"name": "PrioritySort"}],
                    }
                },
                "pluginConfig": [
                    {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}
                ],
            }
        ],
    }
    (folder / "coscheduling.json").write_text(json.dumps(plugin))
    (folder / "volcano.yaml").write_text(_VOLCANO)

    def flags(**provided: Any) -> list[str]:
        return [f"--{name.replace('_', '-')}={value}" for name, value in provided.items()]

    def at(index: int) -> str:
        return f"{HOST}:{ports[index]}"

    return {
        "coscheduling": (
            [
                "coscheduling",
                *flags(
                    config=folder / "coscheduling.json", bind_address=HOST, secure_port=ports[0]
                ),
            ],
            f"https://{at(0)}/readyz",
        ),
        "volcano-controllers": (
            [
                "volcano-controllers",
                *flags(
                    kubeconfig=kubeconfig,
                    leader_elect="false",
                    enable_healthz="true",
                    healthz_address=at(1),
                    controllers="*,-sharding-controller",
                ),
            ],
            f"http://{at(1)}/healthz",
        ),
        "volcano-scheduler": (
            [
                "volcano-scheduler",
                *flags(
                    kubeconfig=kubeconfig,
                    leader_elect="false",
                    enable_healthz="true",
                    healthz_address=at(2),
                    scheduler_conf=folder / "volcano.yaml",
                    cache_dumper="false",
                ),
            ],
            f"http://{at(2)}/healthz",
        ),
        # Its podgroupcontroller only counts resources, and takes port 8080 for itself.
        "kai-podgrouper": (
            [
                "kai-podgrouper",
                *flags(
                    kubeconfig=kubeconfig, metrics_bind_address=0, health_probe_bind_address=at(3)
                ),
            ],
            f"http://{at(3)}/healthz",
        ),
        "kai-binder": (
            [
                "kai-binder",
                *flags(metrics_bind_address=0, health_probe_bind_address=at(4)),
            ],
            "",
        ),
        "kai-queuecontroller": (
            [
                "kai-queuecontroller",
                *flags(kubeconfig=kubeconfig, metrics_listen_address=at(5), enable_webhook="false"),
            ],
            "",
        ),
        "kai-scheduler": (
            [
                "kai-scheduler",
                *flags(listen_address=at(6), plugin_server_port=ports[7], version="false"),
            ],
            "",
        ),
        "yunikorn": (["yunikorn", *flags(health_address=at(8))], f"http://{at(8)}/healthz"),
    }


# Objects


def podgroup(version: str, name: str, namespace: str, minimum: int, **spec: Any) -> Json:
    """Return a PodGroup of one of them."""
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": minimum, **spec},
    }


def member(version: str, group: str, *, scheduler: str = "") -> dict[str, Any]:
    """Return the arguments of `objects.pod` that put a pod into a group."""
    if version == COSCHEDULING:
        labels = {"scheduling.x-k8s.io/pod-group": group}
        return {"labels": labels, "scheduler": scheduler or PLUGIN}
    if version == VOLCANO:
        annotations = {"scheduling.k8s.io/group-name": group}
        return {"annotations": annotations, "scheduler": scheduler or "volcano"}
    return {"annotations": {"pod-group-name": group}, "scheduler": scheduler or "kai-scheduler"}


def volcano_queue(name: str, **capability: str) -> Json:
    """Return a Queue of Volcano."""
    spec = {"weight": 1, "reclaimable": True, **({"capability": capability} if capability else {})}
    return {
        "apiVersion": VOLCANO,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def kai_queue(name: str, parent: str = "", *, gpus: int = -1, quota: int | None = None) -> Json:
    """Return a Queue of KAI that may have so many GPUs."""
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    of_gpus = {**free, "limit": gpus, "quota": gpus if quota is None else quota}
    spec: Json = {"resources": {"cpu": free, "memory": free, "gpu": of_gpus}}
    if parent:
        spec["parentQueue"] = parent
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


_OF_TASKS = ("replicas", "minAvailable", "dependsOn")


def vcjob(name: str, namespace: str, tasks: Mapping[str, Json], **spec: Any) -> Json:
    """Return a Job of Volcano with the defaults of its webhook.

    `tasks` maps each task to its pod spec, its fields in `_OF_TASKS`, and the `annotations` of its pods.
    """
    created = []
    for task, provided in tasks.items():
        own = {key: provided[key] for key in _OF_TASKS if key in provided}
        annotations = provided.get("annotations", {})
        pods = {
            key: value for key, value in provided.items() if key not in (*_OF_TASKS, "annotations")
        }
        template = {"metadata": {"annotations": annotations}, "spec": pods}
        created.append(
            {"name": task, "minAvailable": provided["replicas"], **own, "template": template}
        )
    total = sum(item["replicas"] for item in created)
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "minAvailable": total,
            "schedulerName": "volcano",
            "queue": "default",
            "maxRetry": 3,
            "tasks": created,
            **spec,
        },
    }
