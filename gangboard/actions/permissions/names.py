"""How the objects are called that are installed in a cluster."""

from __future__ import annotations

from typing import Any

from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER, user_name
from gangboard.policy.lever_permissions import Wanted

__all__ = ["ACTOR", "NAMESPACE", "READER", "Manifest", "Wanted", "user_name"]

Manifest = dict[str, Any]
