"""A small Kubernetes API server with a scripted fleet: the demo, the faults and the load of tests.

May enter: the standard library and `cryptography`. Nobody in the product imports this room but
`ops`. It speaks HTTPS on 127.0.0.1 as the real API server does (discovery, lists in pages, watches
with bookmarks and 410, patches, dry-run, preconditions), runs small and true controllers for Jobs
and JobSets, and has a fleet in every state that gangboard has a word for.

`Simulator` is the way in. Gangs are data in `fleets/`; `scripts` says how to add one. Whatever it
claims about Kubernetes was captured from a real control plane or is checked against one by
`tests/contract`.
"""

from simulator.fleet import EXPECTED
from simulator.fleet_spec import Fleet, Gang, NodePool, Role
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
