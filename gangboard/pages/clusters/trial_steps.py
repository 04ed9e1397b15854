"""Commands that mend what a trial of a cluster has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gangboard.domain.shell import command_line, in_context, is_context, rbac_command
from gangboard.readmodels.kubectl import KubectlCommand

ADDRESS_CODES = frozenset({"unreachable", "timeout", "redirected", "not-json"})
_VIEW = ("kubectl", "config", "view", "--raw", "--minify", "--flatten")
_ACCOUNT = "Create a new kubeconfig of the account. The last lines of the output show how."
_TEXTS: Mapping[str, str] = {
    "tls": "Print a kubeconfig with the CA of the server, and use it instead.",
    "unauthorized": _ACCOUNT,
    "forbidden": _ACCOUNT,
}


def actor_steps(name: str, context: str, *, needs_rights: bool) -> tuple[KubectlCommand, ...]:
    """Return the command that gives an actor what it lacks; none if it lacks nothing.

    `name` is that of the cluster in gangboard, `context` what the person's kubectl calls it, if known.
    """
    if not needs_rights:
        return ()
    text = f"Give the account the rights of the actor.{_where(context)}"
    return (KubectlCommand(text, rbac_command(name, context)),)


def trial_steps(
    *, code: str, server: str, context: str, unreadable: Sequence[str], uid_known: bool
) -> tuple[KubectlCommand, ...]:
    """Return the commands for one result, the first one first; none where time alone helps.

    `code` is that of the error, empty where the cluster answered. `context` is what the person's kubectl
    calls the cluster, if that is known.
    """
    if code in ADDRESS_CODES and server:
        words = ("curl", "--insecure", "--max-time", "5", f"{server}/version")
        text = "Check the address on the machine or in the pod of a poll worker. Any HTTP answer is good."
        return (KubectlCommand(text, command_line(words)),)
    if code == "tls":
        text = f"{_TEXTS[code]}{_where(context)}"
        return (KubectlCommand(text, command_line(in_context(_VIEW, context))),)
    if code in _TEXTS:
        return (KubectlCommand(_TEXTS[code], "manage.py print_rbac"),)
    if not code and (unreadable or not uid_known):
        apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
        text = f"Give the account the rights of the reader.{_where(context)}"
        return (KubectlCommand(text, f"manage.py print_rbac | {apply}"),)
    return ()


def _where(context: str) -> str:
    return "" if is_context(context) else " Run it in that cluster's context."
