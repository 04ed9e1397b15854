"""Manifests that gangboard needs in a cluster: in order, as YAML for kubectl, and as files of the Helm chart.

The files of the chart use the namespace `gangboard`. `deploy/chart/templates/rbac.yaml` replaces it with
the namespace of the release.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from textwrap import wrap

import yaml

from gangboard.actions.permissions.admission_policy import admission_policies
from gangboard.actions.permissions.roles import (
    LOG_ROLE,
    NODE_ROLE,
    accounts,
    actor_roles,
    log_roles,
    node_roles,
    prometheus_roles,
    reader_roles,
)
from gangboard.domain.hold_manifest import RESOURCE, Manifest, policy_manifests
from gangboard.domain.shell import command_line, in_context
from gangboard.kube.service_accounts import READER, kubeconfig_commands
from gangboard.policy.lever_permissions import PermissionOptions

_WIDTH = 100
_NO_POLICIES = (
    "This cluster serves no MutatingAdmissionPolicy, so the policy of the Hold is left out: "
    "it needs Kubernetes 1.36, or 1.34 or 1.35 with the feature gate "
    "MutatingAdmissionPolicy and admissionregistration.k8s.io/v1beta1 switched on."
)
_NOT_BOUND = (
    "The binding of the Hold's policy is not in it. API servers need up to 30 seconds to learn of a new kind, "
    "and would refuse writes to Jobs until then. The last command puts Holds in force."
)
_NOTE = "# Written by manage.py print_rbac --chart.\n"
_KEEP = {"helm.sh/resource-policy": "keep"}
"""Deleting the CRD would delete all Holds with it. Without the binding no Hold is in force, and without the
policy the binding has no effect. A rollback to the first revision, which lacks them, must not delete them."""
_KEPT_KINDS = frozenset({"CustomResourceDefinition", "MutatingAdmissionPolicyBinding"})


def manifests(options: PermissionOptions) -> list[Manifest]:
    """Return the objects in the order of `kubectl apply`: the policies come first, so the actor is never without them."""
    hold: tuple[Manifest, ...] = ()
    if options.policy_version:
        hold = policy_manifests(options.policy_version)
    if not options.binds_hold:
        hold = hold[:1]
    return [
        RESOURCE,
        *hold,
        *accounts(),
        *admission_policies(options),
        *reader_roles(),
        *(log_roles() if options.logs else ()),
        *(prometheus_roles(*options.prometheus) if options.prometheus else ()),
        *actor_roles(options),
        *(node_roles() if options.cordon else ()),
    ]


class _Dumper(yaml.SafeDumper):
    """Dumps every list and map in full. An anchor (`&id001`) is correct, but hard to read."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # yaml's signature
        """Return True: no anchors."""
        return True


def yaml_text(options: PermissionOptions, cluster: str = "", context: str = "") -> str:
    """Return the YAML. Comments and commands name the cluster in gangboard and its kubectl `context`."""
    text = documents(manifests(options))
    return f"{_heading(options, cluster, context)}{text}{_ending(options, cluster, context)}"


def hold_text(options: PermissionOptions) -> str:
    """Return the YAML that puts Holds in force: the binding of their policy, or a comment without a policy."""
    if not options.policy_version:
        return _comment([_NO_POLICIES])
    return documents(policy_manifests(options.policy_version)[1:])


def documents(objects: Iterable[Manifest]) -> str:
    """Return objects as YAML, each after a line that separates documents."""
    return "".join(f"---\n{_document(manifest)}" for manifest in objects)


def _document(manifest: Manifest) -> str:
    text: str = yaml.dump(
        manifest, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True
    )
    return text


def _heading(options: PermissionOptions, cluster: str, context: str) -> str:
    place = f"cluster {cluster}" if cluster else "the cluster of kubectl's current context"
    kubectl = command_line(in_context(("kubectl",), context))
    namespaces = f"in {_names(options.namespaces)}" if options.namespaces else "in every namespace"
    lines = [
        f"What gangboard needs in {place}:",
        f"{kubectl} apply -f -",
        "",
        "The reader lists and watches, over all namespaces: a poll asks for all of them at once. "
        f"The actor suspends and resumes {namespaces}; policies limit it to the fields of its levers.",
    ]
    if options.namespaces:
        lines += [
            f"Did the actor have every namespace before? Take that away in {place}:",
            f"{kubectl} delete clusterrolebinding,clusterrole gangboard-actor",
        ]
    if not options.policy_version:
        lines.append(_NO_POLICIES)
    elif not cluster:
        lines.append(
            "For Kubernetes 1.36 and later. With --cluster it is fitted to what that cluster serves "
            "and for the levers that are switched on there."
        )
    if options.policy_version and not options.binds_hold:
        lines.append(_NOT_BOUND)
    if not options.parallelism:
        lines.append("Pausing Jobs by parallelism 0 is not in it: manage.py set_lever.")
    return _comment(lines)


def _ending(options: PermissionOptions, cluster: str, context: str) -> str:
    commands = kubeconfig_commands(cluster or "NAME", context)
    place = f"in cluster {cluster}" if cluster else "in the cluster of kubectl's current context"
    note = f"Then create the kubeconfigs of both accounts {place} and hand them to gangboard:"
    text = f"---\n{_comment([note])}#\n" + "".join(f"#   {line}\n" for line in commands)
    if not options.policy_version or options.binds_hold:
        return text
    apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
    note = "Put Holds in force, not earlier than 40 seconds after the rest:"
    return f"{text}#\n{_comment([note])}#\n#   manage.py print_rbac --hold | {apply}\n"


def _comment(paragraphs: list[str]) -> str:
    lines = [line for text in paragraphs for line in (wrap(text, _WIDTH - 2) or [""])]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _names(namespaces: tuple[str, ...]) -> str:
    return f"namespace{'s' if len(namespaces) > 1 else ''} {', '.join(namespaces)}"


def chart_files(options: PermissionOptions) -> dict[str, str]:
    """Return file name → text: objects of the reader, its role for logs, objects of the actor, its role for nodes, the policy of the Hold and its binding."""
    names = (
        "reader.yaml",
        "logs.yaml",
        "actor.yaml",
        "nodes.yaml",
        "hold.yaml",
        "binding.yaml",
    )
    files: dict[str, list[Manifest]] = {name: [] for name in names}
    for manifest in manifests(options):
        if manifest["kind"] != "Namespace":
            files[_file(manifest)].append(_with_policy(manifest))
    return {name: _NOTE + documents(objects) for name, objects in files.items()}


def _file(manifest: Manifest) -> str:
    if manifest["metadata"]["name"] == READER:
        return "reader.yaml"
    if manifest["metadata"]["name"] == LOG_ROLE:
        return "logs.yaml"
    if manifest["metadata"]["name"] == NODE_ROLE:
        return "nodes.yaml"
    known = {
        "MutatingAdmissionPolicy": "hold.yaml",
        "MutatingAdmissionPolicyBinding": "binding.yaml",
    }
    return known.get(manifest["kind"], "actor.yaml")


def _with_policy(manifest: Manifest) -> Manifest:
    if manifest["kind"] not in _KEPT_KINDS:
        return manifest
    annotated = deepcopy(manifest)
    annotated["metadata"]["annotations"] = _KEEP
    return annotated
