"""Service accounts, roles and bindings with the fewest rights that work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.decode.events import EVENT
from gangboard.decode.holds import HOLD
from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.decode.nodes import NODE
from gangboard.decode.provisioning_requests import PROVISIONING_REQUEST
from gangboard.domain.api_resource import Resource
from gangboard.domain.hold_manifest import POLICY_NAME, Manifest
from gangboard.kube.discovery import SYSTEM_NAMESPACE
from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER
from gangboard.plugins import registry
from gangboard.policy.lever_permissions import (
    PermissionOptions,
    created_resources,
    patched_resources,
    read_only_resources,
)

_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
LOG_ROLE = f"{READER}-logs"
NODE_ROLE = f"{ACTOR}-nodes"
"""Name of the actor's role for nodes, and of the policy that limits it."""
PROMETHEUS_ROLE = f"{READER}-prometheus"
_PODS = ("", "pods")
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi/v3", "/version"]
"""In most clusters every account may read these (system:discovery). Some clusters have removed that role."""


def accounts() -> list[Manifest]:
    """Return the namespace and the two service accounts."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": NAMESPACE},
            }
            for name in (READER, ACTOR)
        ),
    ]


def reader_roles() -> list[Manifest]:
    """Return the role of the reader and its binding. They are cluster-wide, as a poll lists all namespaces.

    The role covers only the Hold's own admission policy, because every request selects it by name. It
    excludes Secrets, config maps and logs; `log_roles` has those.
    """
    rules = _rules(_read(), _READ)
    rules.append(
        {
            "apiGroups": [POLICY.group],
            "resources": [POLICY.plural, BINDING.plural],
            "resourceNames": [POLICY_NAME],
            "verbs": _READ,
        }
    )
    # The uid of this namespace shows whether a new cluster is already watched under another name.
    rules.append(
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "resourceNames": [SYSTEM_NAMESPACE],
            "verbs": ["get"],
        }
    )
    rules.append({"nonResourceURLs": _DISCOVERY, "verbs": ["get"]})
    return [_role(READER, rules), _binding(READER)]


def log_roles() -> list[Manifest]:
    """Return the role with which the reader may read logs of containers, and its binding."""
    rule = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
    return [_role(LOG_ROLE, [rule]), _binding(LOG_ROLE, account=READER)]


def prometheus_roles(namespace: str, service: str) -> list[Manifest]:
    """Return the role with which the reader may ask the Service that measures accelerator use, and its binding."""
    rule = {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "resourceNames": [service],
        "verbs": ["get"],
    }
    return [
        _role(PROMETHEUS_ROLE, [rule], namespace),
        _binding(PROMETHEUS_ROLE, namespace, account=READER),
    ]


def actor_roles(options: PermissionOptions) -> list[Manifest]:
    """Return the roles of the actor: for the enabled levers, the objects they create, and reads of the result.

    RBAC cannot distinguish fields; `admission_policy` does.
    """
    patched = patched_resources(options)
    rules = _rules((item.resource for item in patched if not item.listed), ["get", "patch"])
    rules += _rules((item.resource for item in patched if item.listed), ["get", "list", "patch"])
    rules += _rules(read_only_resources(options), ["get"])
    rules.append({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    rules += [
        {"apiGroups": [item.group], "resources": [item.plural], "verbs": [*item.verbs]}
        for item in created_resources(options)
    ]
    if not options.namespaces:
        return [_role(ACTOR, rules), _binding(ACTOR)]
    return [
        manifest
        for namespace in options.namespaces
        for manifest in (_role(ACTOR, rules, namespace), _binding(ACTOR, namespace))
    ]


def node_roles() -> list[Manifest]:
    """Return the role with which the actor may cordon nodes, and its binding.

    Nodes are in no namespace, so the role is cluster-wide. `admission_policy` limits it to the cordon.
    """
    rule = {"apiGroups": [NODE.group], "resources": [NODE.plural], "verbs": ["get", "patch"]}
    return [_role(NODE_ROLE, [rule]), _binding(NODE_ROLE, account=ACTOR)]


def _read() -> list[tuple[str, str]]:
    """Return (group, plural) of everything that a poll lists, without the policies."""
    resources: list[Resource] = [NODE, EVENT, HOLD, NODE_CLAIM, PROVISIONING_REQUEST]
    resources += [VOLUME_CLAIM, STORAGE_CLASS, RESOURCE_CLAIM, *registry.resources()]
    return [_PODS, *((resource.group, resource.plural) for resource in resources)]


def _rules(resources: Iterable[Resource | tuple[str, str]], verbs: list[str]) -> list[Manifest]:
    """Return one rule per API group."""
    plurals: dict[str, set[str]] = defaultdict(set)
    for item in resources:
        group, plural = item if isinstance(item, tuple) else (item.group, item.plural)
        plurals[group].add(plural)
    return [
        {"apiGroups": [group], "resources": sorted(plurals[group]), "verbs": verbs}
        for group in sorted(plurals)
    ]


def _role(name: str, rules: list[Manifest], namespace: str = "") -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": _metadata(name, namespace),
        "rules": rules,
    }


def _binding(name: str, namespace: str = "", *, account: str = "") -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": _metadata(name, namespace),
        "roleRef": {
            "apiGroup": _RBAC,
            "kind": "Role" if namespace else "ClusterRole",
            "name": name,
        },
        "subjects": [{"kind": "ServiceAccount", "name": account or name, "namespace": NAMESPACE}],
    }


def _metadata(name: str, namespace: str) -> Manifest:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
