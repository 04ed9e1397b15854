"""How a finished story leaves: waiting gangs cost time of their scheduler, API server and gangboard."""

from __future__ import annotations

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.objects import JOBSET
from tests.controlplane.profiles import Profile

_OWNERS = ((JOBSET, "JobSet"), ("batch/v1", "Job"), ("apps/v1", "DaemonSet"))
_PODS = ("v1", "Pod")


def leave(plane: ControlPlane, namespace: str) -> None:
    """Request the deletion of a story's owners, groups and pods, without waiting for it.

    Its namespace stays, empty: a cluster sends ninety requests until a namespace is deleted. Its nodes stay as well:
    without one of them the scheduler writes a new sentence, in a new event, for each waiting pod.

    """
    for api_version, kind in (*_OWNERS, *_groups(plane.profile), _PODS):
        plane.client.delete_all(api_version, kind, namespace)


def _groups(profile: Profile) -> tuple[tuple[str, str], ...]:
    """Return the kind in which a cluster has the groups that people make."""
    if profile.gang_version is None:
        return ()
    kind = "Workload" if profile.minor == 35 else "PodGroup"
    return ((f"scheduling.k8s.io/{profile.gang_version}", kind),)
