"""Affinity that gives some pods a topology domain for themselves, as several controllers write it."""

from __future__ import annotations

from typing import Any

from gangboard.domain.forecast import Manifest
from gangboard.plugins.child_manifests import items, section

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def exclusive_affinity(
    pod: Manifest, topology: str, label: str, value: str, *, in_all_namespaces: bool = False
) -> dict[str, Any]:
    """Return the affinity of a pod spec with terms for pods that share a value of a label.

    They share one value of the node label `topology`, and pods with another value of `label` are kept out.
    """
    affinity = section(pod, "affinity")
    everywhere: Manifest = {"namespaceSelector": {}} if in_all_namespaces else {}
    expressions = {
        "podAffinity": [{"key": label, "operator": "In", "values": [value]}],
        "podAntiAffinity": [
            {"key": label, "operator": "Exists"},
            {"key": label, "operator": "NotIn", "values": [value]},
        ],
    }
    terms = {
        name: {
            **section(affinity, name),
            REQUIRED: [
                *items(affinity, name, REQUIRED),
                {
                    "topologyKey": topology,
                    "labelSelector": {"matchExpressions": selector},
                    **everywhere,
                },
            ],
        }
        for name, selector in expressions.items()
    }
    return {**affinity, **terms}
