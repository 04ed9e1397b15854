"""How the objects are called that are installed in a cluster."""

from __future__ import annotations

from typing import Any

from gangboard.diagnosis.policy.levered import Wanted
from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER, user_name

__all__ = ["ACTOR", "NAMESPACE", "READER", "Manifest", "Wanted", "user_name"]

Manifest = dict[str, Any]
