"""Helm, as an operator calls it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.build import binary

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
SECONDS = 60.0

Manifest = dict[str, Any]
Values = Mapping[str, object]

REFERENCES: Values = {
    "image": {"repository": "registry.example.com/gangboard", "tag": "v1"},
    "url": "https://gangs.example.com",
    "trustedProxies": ["10.0.0.0/8"],
    "keys": {"existingSecret": "keys"},
    "database": {"existingSecret": "postgres"},
    "redis": {"existingSecret": "redis"},
}
"""The least that an installation with its own PostgreSQL and Redis must say."""
TRIAL: Values = {
    "image": REFERENCES["image"],
    "url": "http://localhost:8000",
    "trial": {"enabled": True},
}
FULL: Values = {
    **REFERENCES,
    "image": {"repository": "registry.example.com/gangboard", "digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "registry"}],
    "hosts": ["gangs.internal"],
    "settings": {"GANGBOARD_POLL_SLOTS": "16"},
    "secretSettings": {"GANGBOARD_METRICS_TOKEN": {"secret": "metrics", "key": "token"}},
    "cluster": {"name": "prod"},
    "actor": {"enabled": True, "holdBinding": "always"},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"example.com/proxy": "on"},
        "tlsSecret": "tls",
    },
    "httpRoute": {"enabled": True, "parentRefs": [{"name": "public", "namespace": "gateways"}]},
    "networkPolicy": {
        "webFrom": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
        ]
    },
    "metrics": {
        "existingSecret": "metrics",
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True},
    },
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "podAnnotations": {"example.com/team": "platform"},
}
"""Everything switched on."""
ALL: Mapping[str, Values] = {
    "references": REFERENCES,
    "trial": TRIAL,
    "trial-volume": {**TRIAL, "trial": {"enabled": True, "storage": "5Gi"}},
    "full": FULL,
    "no-mutating-policies": {**FULL, "actor": {"enabled": True, "policyVersion": "none"}},
}


class HelmError(Exception):
    """Helm ended with an error. The text is its output."""


def helm(*arguments: str, values: Values | None = None) -> str:
    """Run Helm and return its output. Raises `HelmError`."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "values.json"
        file.write_text(json.dumps(values or {}))
        options = () if values is None else ("--values", str(file))
        done = subprocess.run(
            [str(binary("helm", "helm")), *arguments, *options],
            env={"PATH": os.environ["PATH"], "HOME": home},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    if done.returncode:
        raise HelmError(done.stdout + done.stderr)
    return done.stdout


def rendered(values: Values, namespace: str = "gangboard") -> list[Manifest]:
    """Return the objects that `helm install` would create."""
    return deepcopy(_rendered(json.dumps(values), namespace))


@cache
def _rendered(values: str, namespace: str) -> list[Manifest]:
    arguments = ("template", "gangboard", str(CHART), "--namespace", namespace)
    text = helm(*arguments, values=json.loads(values))
    return [manifest for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader) if manifest]


def pod_template(manifest: Manifest) -> Manifest | None:
    """Return the pod template of a workload, None for other objects."""
    spec: Manifest = manifest.get("spec") or {}
    template: Manifest | None = spec.get("template")
    return template if template is not None and "containers" in template.get("spec", {}) else None
