"""`check`: would these manifests run now?"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from gangboard_client.context import Context
from gangboard_client.errors import NotReachedError, RefusedError, UsageError

LARGEST = 256 * 1024
PLACED, UNKNOWN = "admitted-and-placed", "unknown"
NOT_SERVED = "You see no such cluster, or this server is too old to check manifests."


def check(context: Context, args: Namespace) -> int:
    """Show a verdict per gang and cluster; return 0 if all would run, 1 if one would not, 2 if not known."""
    body: dict[str, object] = {"manifests": _read(args.file)}
    if args.cluster:
        body["clusters"] = args.cluster
    try:
        data = context.server.ask("check_manifests", body=body).data
    except RefusedError as error:
        if error.status in (404, 405):
            raise UsageError(NOT_SERVED) from error
        raise
    rows = data.get("results")
    if not isinstance(rows, list):
        raise NotReachedError(f"{context.server.address} answered without results.")
    if context.output.as_json:
        context.output.json(data)
    else:
        head = ("CLUSTER", "KIND", "NAME", "VERDICT", "CODE", "MESSAGE")
        names = [word.lower() for word in head]
        context.output.table(head, [[row.get(name) or "-" for name in names] for row in rows])
    return _exit_code(rows)


def _exit_code(rows: list[dict[str, object]]) -> int:
    """Return 0 if each gang would run in some cluster, 1 if one would in none, 2 if nobody can tell."""
    verdicts: dict[tuple[object, ...], set[object]] = {}
    for row in rows:
        gang = (row.get("kind"), row.get("namespace"), row.get("name"))
        verdicts.setdefault(gang, set()).add(row.get("verdict"))
    stuck = [said for said in verdicts.values() if PLACED not in said]
    if any(UNKNOWN not in said for said in stuck):
        return 1
    return 2 if stuck or not rows else 0


def _read(name: str) -> str:
    """Return the manifests of a file, or of standard input for `-`. Raises UsageError."""
    try:
        text = sys.stdin.read(LARGEST + 1) if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"{name} cannot be read: {reason}.") from error
    if len(text) > LARGEST:
        raise UsageError(f"{name} has more than {LARGEST} characters.")
    return text
