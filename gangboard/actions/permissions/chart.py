"""The objects as files of the Helm chart.

They are written for the namespace `gangboard`; `deploy/chart/templates/rbac.yaml` puts in that of the release.
"""

from __future__ import annotations

from copy import deepcopy

from gangboard.actions.permissions.manifests import manifests
from gangboard.actions.permissions.names import READER, Manifest, Wanted
from gangboard.actions.permissions.printing import documents

_NOTE = "# Written by manage.py print_rbac --chart.\n"
_KEPT = {"helm.sh/resource-policy": "keep"}
"""Deleting the resource would delete all Holds with it. Without the binding none is in force, and a rollback to
the first revision, which has none, would delete it; without its policy it has no effect."""
_KEPT_KINDS = frozenset({"CustomResourceDefinition", "MutatingAdmissionPolicyBinding"})


def chart_files(wanted: Wanted) -> dict[str, str]:
    """Return file name → text: objects of the reader, of the actor, the policy of the Hold and its binding."""
    names = ("reader.yaml", "actor.yaml", "hold.yaml", "binding.yaml")
    files: dict[str, list[Manifest]] = {name: [] for name in names}
    for manifest in manifests(wanted):
        if manifest["kind"] != "Namespace":
            files[_file(manifest)].append(_with_policy(manifest))
    return {name: _NOTE + documents(found) for name, found in files.items()}


def _file(manifest: Manifest) -> str:
    if manifest["metadata"]["name"] == READER:
        return "reader.yaml"
    known = {
        "MutatingAdmissionPolicy": "hold.yaml",
        "MutatingAdmissionPolicyBinding": "binding.yaml",
    }
    return known.get(manifest["kind"], "actor.yaml")


def _with_policy(manifest: Manifest) -> Manifest:
    if manifest["kind"] not in _KEPT_KINDS:
        return manifest
    kept = deepcopy(manifest)
    kept["metadata"]["annotations"] = _KEPT
    return kept
