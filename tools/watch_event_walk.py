"""The files of gangboard that one watch event passes, from the line of the watch to the stored verdict."""

from __future__ import annotations

import json

from gangboard.decode.list_watch_decoder import build_model, read_event
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.plugins import registry
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.poll_window import PollWindow
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.store_writer import StoreWriter
from gangboard.polling.watch_batches import Batch, UpdatedObject
from gangboard.store.cluster_leases import acquire_lease
from gangboard.store.clusters import add_cluster
from simulator import Simulator
from simulator.fleet_spec import Fleet, Gang, NodePool, Role
from simulator.manifests import PodTemplate
from tools.pages_benchmark import throwaway_database
from tools.verdict_walk import executed_files

JOBS = 50
NAME, NAMESPACE = "train", "research"
FLEET = Fleet(
    "measures",
    (NodePool("cpu", 4, cpu="128", memory="1Ti"),),
    (
        Gang(
            NAMESPACE,
            "JobSet",
            NAME,
            "running",
            roles=(Role("workers", PodTemplate(), jobs=JOBS, pods=1),),
        ),
    ),
)
"""A simulated cluster with one healthy JobSet of 50 Jobs, for measurements."""
SECONDS = 60.0


def watch_event_files() -> int:
    """Return the number of files that the event of an unready pod executes."""
    with throwaway_database(), Simulator(FLEET, story=False) as simulator:
        return len(walk(simulator))


def walk(simulator: Simulator) -> set[str]:
    """Return the executed files by their path in the package, with the connected database."""
    credentials = read_kubeconfig(simulator.kubeconfig_text())
    cluster = add_cluster(
        name="watch-event", document=credentials.to_document(), server=credentials.server
    )
    lease = acquire_lease(cluster.pk, "measure")
    if lease is None:
        raise RuntimeError("the cluster of the measure is held by another worker")
    with Connection(credentials) as connection:
        cache = ClusterCache(
            lease=lease,
            cluster_name=cluster.name,
            credentials_stamp=b"",
            connection=connection,
            watched={resource.key: WatchedResource(resource) for resource in resources()},
        )
        PollWindow(cache, seconds=SECONDS, repair_interval=SECONDS, list_only=True).run()
        # The first event of a process fills caches of decoders and registries.
        for version in ("900001", "900002"):
            with executed_files() as files:
                _take_event(cache, _line(simulator, version))
    return files


def _line(simulator: Simulator, version: str) -> bytes:
    """Return the line of a watch with an unready pod."""
    pod = simulator.objects.list("v1", "Pod")[0]
    pod["metadata"]["resourceVersion"] = version
    for condition in pod["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"
    return json.dumps({"type": "MODIFIED", "object": pod}).encode()


def _take_event(cache: ClusterCache, line: bytes) -> None:
    resource = registry.pods()
    event = read_event(line, resource)
    model, _ = build_model(resource, event.object, "v1")
    if model is None:
        raise RuntimeError("the pod of the measure cannot be read")
    ref, version = model.meta.ref, event.resource_version
    change = UpdatedObject(ref.uid, version, ref.namespace, ref.name, model)
    writer = StoreWriter(cache, Assessor(cache))
    writer.apply(Batch(resource.key, changed=[change], resource_version=version))
    writer.commit()
