"""How a story that is over leaves: what waits costs its scheduler, its API server and gangboard time."""

from __future__ import annotations

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.objects import JOBSET
from tests.controlplane.profiles import Profile

_OWNERS = ((JOBSET, "JobSet"), ("batch/v1", "Job"), ("apps/v1", "DaemonSet"))
_PODS = ("v1", "Pod")


def leave(plane: ControlPlane, namespace: str) -> None:
    """Ask for the deletion of a story's owners, groups and pods; nobody waits until they are gone.

    Its namespace stays, empty: a cluster asks ninety times until one of those is gone. So do its nodes:
    without one of them the scheduler has another sentence, in another event, for each pod that waits.
    """
    at_once = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
    for api_version, kind in (*_OWNERS, *_groups(plane.profile), _PODS):
        path = plane.client.path(api_version, kind, namespace)
        plane.client.request("DELETE", path, at_once)


def _groups(profile: Profile) -> tuple[tuple[str, str], ...]:
    """Return the kind in which a cluster has the groups that people make."""
    if profile.gang_version is None:
        return ()
    kind = "Workload" if profile.minor == 35 else "PodGroup"
    return ((f"scheduling.k8s.io/{profile.gang_version}", kind),)
