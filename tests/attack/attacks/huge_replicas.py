"""A tenant makes small objects that ask for int32 pods times int32 replicas, and changes them now and then."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.attack.found import Figures
from tests.controlplane.client import Client
from tests.installation import Installation

Json = dict[str, Any]
SECONDS = 90
LARGEST = 2**31 - 1
TENANT, OTHER = "huge-replicas", "huge-replicas-other"
NEWS = 4
"""Jobs of another tenant that are awaited, one after the other."""
MOST_SECONDS = 5.0
"""Seconds within which each of them reaches the API. It was 19 to 69 s for ten such
LeaderWorkerSets, and never after one DisaggregatedSet of five roles."""
MOST_BYTES = 256 * 1024
"""Bytes of the API's response about one such gang."""
_TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "x"}]}}


def _leaderworkerset(number: int) -> Json:
    workers = {"size": LARGEST, "workerTemplate": _TEMPLATE}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": f"huge-{number}", "namespace": TENANT},
        "spec": {"replicas": LARGEST, "leaderWorkerTemplate": workers},
    }


def _podcliqueset(number: int) -> Json:
    clique = {"replicas": LARGEST, "minAvailable": LARGEST, "podSpec": _TEMPLATE["spec"]}
    scaled = {"name": "g", "cliqueNames": ["b"], "replicas": LARGEST}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": f"huge-{number}", "namespace": TENANT},
        "spec": {
            "replicas": LARGEST,
            "template": {
                "cliques": [{"name": name, "spec": clique} for name in ("a", "b")],
                "podCliqueScalingGroups": [scaled],
            },
        },
    }


def _disaggregatedset(number: int) -> Json:
    """Its 5 x 2^62 pods are no number that a database has."""
    template = {"size": LARGEST, "workerTemplate": _TEMPLATE}
    roles = [
        {"name": f"r{at}", "spec": {"replicas": LARGEST, "leaderWorkerTemplate": template}}
        for at in range(5)
    ]
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": f"huge-set-{number}", "namespace": TENANT},
        "spec": {"roles": roles},
    }


def _job(name: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": OTHER},
        "spec": {"template": _TEMPLATE},
    }


def attack(board: Installation) -> Figures:
    """News of other gangs stays in time, and the texts about such a gang are short."""
    huge = [
        *map(_leaderworkerset, range(6)),
        *map(_podcliqueset, range(3)),
        *map(_disaggregatedset, range(1)),
    ]
    with _tenant(board, huge) as client:
        worst = max(_news(board, client, huge, number) for number in range(NEWS))
        gangs = board.gangs(namespace=TENANT)
        assert len(gangs) == len(huge), [gang["name"] for gang in gangs]
        largest = max(len(json.dumps(board.get(f"gangs/{gang['id']}/"))) for gang in gangs)
        assert largest <= MOST_BYTES, f"{largest} bytes about one gang"
    return {"objects": len(huge), "worst_seconds": round(worst, 3), "largest_answer": largest}


def _news(board: Installation, client: Client, huge: list[Json], number: int) -> float:
    """Change the huge objects, make a Job of another tenant, and return the seconds until it is
    shown."""
    for obj in huge:
        body = {"metadata": {"annotations": {"touched": str(number)}}}
        client.patch(obj["apiVersion"], obj["kind"], obj["metadata"]["name"], body, TENANT)
    name, started_at = f"news-{number}", time.monotonic()
    client.create(_job(name))
    while not board.get("gangs/", namespace=OTHER, q=name)["results"]:
        seconds = time.monotonic() - started_at
        assert seconds <= MOST_SECONDS, f"a Job is not told after {seconds:.1f} s"
        time.sleep(0.05)
    return time.monotonic() - started_at


@contextmanager
def _tenant(board: Installation, huge: list[Json]) -> Iterator[Client]:
    """A client of the simulated cluster in which these objects are; they are deleted at the end."""
    while not board.gangs(cluster="sim-east"):
        time.sleep(0.2)
    config = json.loads((board.folder / "simulator" / "sim-east-admin.kubeconfig").read_text())
    (cluster,), (user,) = config["clusters"], config["users"]
    authority = board.folder / "huge-replicas.crt"
    authority.write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    client = Client(cluster["cluster"]["server"], ca=authority, token=user["user"]["token"])
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in (TENANT, OTHER)
    ]
    jobs = [_job(f"news-{number}") for number in range(NEWS)]
    try:
        for obj in (*namespaces, *huge):
            client.create(obj)
        yield client
    finally:
        for obj in (*huge, *jobs, *namespaces):
            meta = obj["metadata"]
            client.delete(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
        client.close()
