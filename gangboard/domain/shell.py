"""Commands for users to copy into a shell. A server can send any text as a name, so names are checked first."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from shlex import quote

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names that Kubernetes allows. A command with any other name is not offered."""


def is_safe_in_shell(*names: str) -> bool:
    """Return whether a shell reads each name as one plain word, and no program reads it as an option."""
    return all(_SAFE.fullmatch(name) for name in names)


def command(template: str, *names: str) -> tuple[str, ...]:
    """Return the arguments of a command. Each `{}` of the template is replaced by the next name.

    The result is empty if a name is not safe in a shell. The template itself is our own text.
    """
    if not is_safe_in_shell(*names):
        return ()
    return tuple(template.format(*names).split())


def in_context(arguments: Iterable[str], context: str) -> tuple[str, ...]:
    """Return a kubectl command with the option `--context`. Other commands stay unchanged.

    `context` is the kubectl context of the cluster, any printable text. If it is empty, the command stays unchanged.
    """
    command = tuple(arguments)
    if command[:1] != ("kubectl",) or not is_context(context):
        return command
    return ("kubectl", "--context", context, *command[1:])


def line_in_cluster(arguments: Iterable[str], cluster: str, context: str) -> str:
    """Return a command as one line with its cluster, named by `--context` or else in brackets behind it."""
    command = tuple(arguments)
    with_context = in_context(command, context)
    line = command_line(with_context)
    return line if not line or with_context != command else f"{line} (in cluster {cluster})"


def is_context(context: str) -> bool:
    """Return whether the text can follow `--context`. It must be one line and not start like an option."""
    return bool(context) and context.isprintable() and not context.startswith("-")


def command_line(arguments: Iterable[str]) -> str:
    """Return the arguments as one shell-quoted line."""
    return shlex.join(arguments)


def rbac_command(cluster: str, context: str = "") -> str:
    """Return the command that applies the RBAC manifests of a cluster.

    `cluster` is its name in gangboard, and `context` its kubectl context. Without one, kubectl uses the current context.
    """
    apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
    return f"manage.py print_rbac --cluster {quote(cluster or 'NAME')} | {apply}"
