"""Kubeconfigs for tests."""

import base64
import json
from pathlib import Path
from typing import Any

import yaml


def jwt(expires: int) -> str:
    """An unsigned token with an expiry in seconds since 1970."""
    fragments = [{"alg": "none"}, {"exp": expires}]
    encoded = [
        base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in fragments
    ]
    return ".".join([*encoded, "x"])


def write_kubeconfig(
    path: Path,
    *,
    server: str = "https://127.0.0.1:1",
    context: str = "dev",
    user: dict[str, Any] | None = None,
    authority: str = "",
) -> Path:
    """A kubeconfig with one context. Port 1 refuses connections. `authority` is a PEM certificate."""
    cluster = {"server": server}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {"token": "sesame"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path
