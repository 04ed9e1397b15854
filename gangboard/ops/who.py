"""Who runs a management command, for the audit."""

from __future__ import annotations

import os
import pwd


def command_author() -> str:
    """Return `ada (manage.py)`; in a container without that user the number instead of the name."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return f"{name} (manage.py)"
