"""A small Kubernetes API server with a scripted fleet, for the demo and for faults and load in tests.

It may import the standard library and `cryptography`. In the product, only `ops` imports it. It speaks HTTPS
on 127.0.0.1 like the real API server (discovery, lists in pages, watches with bookmarks and 410, patches,
dry-run, preconditions). It runs small but faithful controllers for Jobs and JobSets, and has gangs in every
state that gangboard can report.

`Simulator` is the entry point. Gangs are data in `fleets/`; `fleet_spec` says how to add one. Every claim
about Kubernetes was captured from a real control plane or is checked against one by `tests/contract`.
"""

from simulator.fleet_spec import Fleet, Gang, NodePool, Role
from simulator.fleets import EXPECTED
from simulator.manifests import PodTemplate
from simulator.simulator import Simulator

__all__ = [
    "EXPECTED",
    "Fleet",
    "Gang",
    "NodePool",
    "PodTemplate",
    "Role",
    "Simulator",
]
