"""The command that applies gangboard's roles, Hold and policies to a watched cluster."""

from __future__ import annotations

from shlex import quote

from gangboard.domain.shell import command_line, in_context


def roles_command(cluster: str, context: str = "") -> str:
    """Return the command; kubectl uses the current context if the one of the cluster is unknown.

    `cluster` is its name in gangboard, `context` what the person's kubectl calls it, or empty.
    """
    apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
    return f"manage.py print_rbac --cluster {quote(cluster or 'NAME')} | {apply}"
