"""Clusters that cannot be read: the cause in words, and one next step for each cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.cluster_reach import first_name, without_first_name
from gangboard.domain.shell import command, command_line
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster

_RENEW = "manage.py add_cluster {} --kubeconfig FILE"
_REMOVE = "manage.py remove_cluster {}"
_RIGHTS = "manage.py print_rbac --cluster {}"
_ADDRESS = (
    "Check that the address is right and that gangboard can reach it. Then add the cluster again with its "
    "kubeconfig:"
)
STEPS: Mapping[str, tuple[str, str]] = {
    "unreachable": (_ADDRESS, _RENEW),
    "timeout": (_ADDRESS, _RENEW),
    "redirected": (_ADDRESS, _RENEW),
    "not-json": (_ADDRESS, _RENEW),
    "tls": (
        "Add it again with a kubeconfig that has the CA of this server (certificate-authority-data):",
        _RENEW,
    ),
    "unauthorized": ("Add it again with a kubeconfig that has a new token:", _RENEW),
    "credentials": ("Add it again with a kubeconfig that works:", _RENEW),
    "forbidden": (
        "Give the account the rights of the reader. This command prints them:",
        _RIGHTS,
    ),
    "same-cluster": ("Remove the second name:", _REMOVE),
    "other-cluster": (
        "Add it again with the kubeconfig of the original cluster. If the cluster was rebuilt on purpose, "
        "first remove it from gangboard. Then run:",
        _RENEW,
    ),
}
"""Code of the problem, as stored (`KubeErrorCode`) → what to do, and the template of the command."""


@dataclass(frozen=True, slots=True)
class ReachStep:
    """The next step for a cluster that cannot be read."""

    text: str
    command: str


def problem_sentence(cluster_id: int, sentence: str, *, viewer: Viewer) -> str:
    """Return why a cluster cannot be read; empty for viewers who may not read cluster-wide texts.

    A sentence about a second name takes 1 query if the viewer sees some clusters only.
    """
    if not viewer.sees_cluster(cluster_id):
        return ""
    visible, other = viewer.cluster_filter(), first_name(sentence)
    if other and visible and not Cluster.objects.filter(visible, name=other).exists():
        sentence = without_first_name(sentence)
    return printable(sentence)


def reach_step(cluster: str, problem: str) -> ReachStep | None:
    """Return the step for a problem (kube.errors); None for one that ends without a person."""
    found = STEPS.get(problem)
    if found is None:
        return None
    text, template = found
    return ReachStep(text, command_line(command(template, cluster)))
