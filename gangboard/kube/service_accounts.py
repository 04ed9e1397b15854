"""The two service accounts of gangboard in a cluster, and commands that make their kubeconfigs."""

from __future__ import annotations

from shlex import quote

from gangboard.domain.shell import command_line, in_context

NAMESPACE = "gangboard"
READER = "gangboard-reader"
"""Lists and watches. gangboard polls with it."""
ACTOR = "gangboard-actor"
"""Suspends and resumes, and reads the results."""

TOKEN_HOURS = 8760
"""A year. The API server may issue a shorter token. The Clusters page shows when it expires."""

_VIEW = "config view --raw --minify --flatten --output"
_AUTHORITY = "ca.crt"


def user_name(account: str) -> str:
    """Return the user name of one of the accounts at an API server."""
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def kubeconfig_commands(cluster: str = "NAME", context: str = "") -> tuple[str, ...]:
    """Return shell commands that make both kubeconfigs and pass them to gangboard.

    `cluster` is its name in gangboard, `context` its name in kubectl, by default the current context. A person who
    may create tokens in the cluster runs them, after applying the output of `manage.py print_rbac`.
    """
    kubectl = command_line(in_context(("kubectl",), context))
    data = "jsonpath='{.clusters[0].cluster.certificate-authority-data}'"
    return (
        f"{kubectl} {_VIEW} {data} | base64 --decode > {_AUTHORITY}",
        *_account_commands(READER, kubectl),
        *_account_commands(ACTOR, kubectl),
        f"manage.py add_cluster {quote(cluster)} --kubeconfig {_file(READER)}"
        f" --actor-kubeconfig {_file(ACTOR)}",
    )


def _account_commands(account: str, kubectl: str) -> tuple[str, ...]:
    config = f"kubectl config --kubeconfig={_file(account)}"
    server = f"\"$({kubectl} {_VIEW} jsonpath='{{.clusters[0].cluster.server}}')\""
    token = (
        f'"$({kubectl} create token {account} --namespace={NAMESPACE} --duration={TOKEN_HOURS}h)"'
    )
    return (
        f"{config} set-cluster gangboard --embed-certs --certificate-authority={_AUTHORITY}"
        f" --server={server}",
        f"{config} set-credentials {account} --token={token}",
        f"{config} set-context gangboard --cluster=gangboard --user={account}",
        f"{config} use-context gangboard",
    )


def _file(account: str) -> str:
    return f"{account}.kubeconfig"
