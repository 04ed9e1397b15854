"""Which names of a cluster may stand in a command to copy: an API server can send any text as one."""

from __future__ import annotations

import re

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a Kubernetes name can be. Anything else is not offered for a shell."""


def is_safe_in_shell(*names: str) -> bool:
    """Whether a shell takes each of the names as one plain word, and no program as an option."""
    return all(_SAFE.fullmatch(name) for name in names)
