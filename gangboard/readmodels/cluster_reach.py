"""Next steps for clusters that cannot be read: one for each cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.shell import command, command_line

_RENEW = "manage.py add_cluster {} --kubeconfig FILE"
_REMOVE = "manage.py remove_cluster {}"
_RIGHTS = "manage.py print_rbac --cluster {}"
_ADDRESS = (
    "Check that the address is right and can be reached from here. Then try it with the kubeconfig:"
)
STEPS: Mapping[str, tuple[str, str]] = {
    "unreachable": (_ADDRESS, _RENEW),
    "timeout": (_ADDRESS, _RENEW),
    "redirected": (_ADDRESS, _RENEW),
    "not-json": (_ADDRESS, _RENEW),
    "tls": (
        "Give it a kubeconfig with the CA (certificate-authority-data) of this server:",
        _RENEW,
    ),
    "unauthorized": ("Give it a kubeconfig with a new token:", _RENEW),
    "credentials": ("Give it a kubeconfig that can be used:", _RENEW),
    "forbidden": (
        "Give the account the rights of the reader, which this prints:",
        _RIGHTS,
    ),
    "same-cluster": ("Remove the second name:", _REMOVE),
    "other-cluster": (
        "Give it the kubeconfig of the cluster that was added. Was it made anew on purpose? Then remove it "
        "and add it again. That command:",
        _RENEW,
    ),
}
"""Code of the problem, as stored (`KubeErrorCode`) → what to do, and the template of the command."""


@dataclass(frozen=True, slots=True)
class ReachStep:
    """The next step for a cluster that cannot be read."""

    text: str
    command: str


def reach_step(cluster: str, problem: str) -> ReachStep | None:
    """Return the step for a problem (kube.errors); None for one that ends without a person."""
    found = STEPS.get(problem)
    if found is None:
        return None
    text, template = found
    return ReachStep(text, command_line(command(template, cluster)))
