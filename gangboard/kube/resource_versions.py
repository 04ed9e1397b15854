"""The order of resourceVersions.

Those of one resource are decimal numbers that only grow: by contract since Kubernetes 1.35 (KEP-5504), and
with etcd before that. Any other text has no order.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[1-9][0-9]*", re.ASCII)


def is_lower(version: str, other: str) -> bool:
    """Whether `version` comes before `other`; False where either is no number."""
    if not (_NUMBER.fullmatch(version) and _NUMBER.fullmatch(other)):
        return False
    return (len(version), version) < (len(other), other)
