"""A simulated cluster with one healthy JobSet of 50 Jobs, for measurements."""

from __future__ import annotations

from simulator.fleet_spec import Fleet, Gang, NodePool, Role
from simulator.manifests import PodTemplate

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
