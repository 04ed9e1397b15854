"""Commands to copy into a shell, and the names of a cluster that may stand in them: a server can send any text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from shlex import quote

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a Kubernetes name can be. Anything else is not offered for a shell."""


def is_safe_in_shell(*names: str) -> bool:
    """Whether a shell takes each of the names as one plain word, and no program as an option."""
    return all(_SAFE.fullmatch(name) for name in names)


def command(template: str, *names: str) -> tuple[str, ...]:
    """Return the words of a command: each `{}` of the template stands for the next of the names.

    Empty if one of the names is not safe in a shell. The template itself is our own text.
    """
    if not is_safe_in_shell(*names):
        return ()
    return tuple(template.format(*names).split())


def in_context(words: Iterable[str], context: str) -> tuple[str, ...]:
    """Return the words of a command with the context that names its cluster, if it is one of kubectl.

    `context` is what the person's kubectl calls the cluster, any printable text; empty: unchanged.
    """
    found = tuple(words)
    if found[:1] != ("kubectl",) or not is_context(context):
        return found
    return ("kubectl", "--context", context, *found[1:])


def line_in_cluster(words: Iterable[str], cluster: str, context: str) -> str:
    """Return a command as one line that names its cluster: by the context, else behind it in words."""
    given = tuple(words)
    found = in_context(given, context)
    line = command_line(found)
    return line if not line or found != given else f"{line} (in cluster {cluster})"


def is_context(context: str) -> bool:
    """Return True for a name that can stand behind `--context`: one line, and no option of its own."""
    return bool(context) and context.isprintable() and not context.startswith("-")


def command_line(words: Iterable[str]) -> str:
    """Return the words as one line for a shell, which takes each of them as one word."""
    return shlex.join(words)


def rbac_command(cluster: str, context: str = "") -> str:
    """Return the command; kubectl uses the current context if the one of the cluster is unknown.

    `cluster` is its name in gangboard, `context` what the person's kubectl calls it, or empty.
    """
    apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
    return f"manage.py print_rbac --cluster {quote(cluster or 'NAME')} | {apply}"
