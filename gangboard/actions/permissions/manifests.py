"""Manifests that gangboard needs in a cluster: in order, as YAML for kubectl, and as files of the Helm chart.

The chart's files are written for the namespace `gangboard`; `deploy/chart/templates/rbac.yaml` replaces it by that of
the release.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from textwrap import wrap

import yaml

from gangboard.actions.permissions.admission_policy import admission_policies
from gangboard.actions.permissions.roles import accounts, actor_roles, reader_roles
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
_KEPT = {"helm.sh/resource-policy": "keep"}
"""Deleting the resource would delete all Holds with it. Without the binding none is in force, and a rollback to
the first revision, which has none, would delete it; without its policy it has no effect."""
_KEPT_KINDS = frozenset({"CustomResourceDefinition", "MutatingAdmissionPolicyBinding"})


def manifests(wanted: PermissionOptions) -> list[Manifest]:
    """Return the objects in the order of `kubectl apply`: the policies come first, so the actor is never without them."""
    hold: tuple[Manifest, ...] = ()
    if wanted.policy_version:
        hold = policy_manifests(wanted.policy_version)
    if not wanted.binds_hold:
        hold = hold[:1]
    return [
        RESOURCE,
        *hold,
        *accounts(),
        *admission_policies(wanted),
        *reader_roles(),
        *actor_roles(wanted),
    ]


class _Dumper(yaml.SafeDumper):
    """Writes every list and map out. An anchor (`&id001`) is correct, but hard to read."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # yaml's signature
        """Return True: no anchors."""
        return True


def yaml_text(wanted: PermissionOptions, cluster: str = "", context: str = "") -> str:
    """Return the YAML; `cluster` is its name in gangboard, `context` that in kubectl, for comments and commands."""
    text = documents(manifests(wanted))
    return f"{_heading(wanted, cluster, context)}{text}{_ending(wanted, cluster, context)}"


def hold_text(wanted: PermissionOptions) -> str:
    """Return the YAML that puts Holds in force: the binding of their policy, or a comment where there is none."""
    if not wanted.policy_version:
        return _comment([_NO_POLICIES])
    return documents(policy_manifests(wanted.policy_version)[1:])


def documents(found: Iterable[Manifest]) -> str:
    """Return objects as YAML, each with the line that separates documents before it."""
    return "".join(f"---\n{_document(manifest)}" for manifest in found)


def _document(manifest: Manifest) -> str:
    text: str = yaml.dump(
        manifest, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True
    )
    return text


def _heading(wanted: PermissionOptions, cluster: str, context: str) -> str:
    where = f"cluster {cluster}" if cluster else "the cluster of kubectl's current context"
    kubectl = command_line(in_context(("kubectl",), context))
    places = f"in {_names(wanted.namespaces)}" if wanted.namespaces else "in every namespace"
    said = [
        f"What gangboard needs in {where}:",
        f"{kubectl} apply -f -",
        "",
        "The reader lists and watches, over all namespaces: a poll asks for all of them at once. "
        f"The actor suspends and resumes {places}; policies limit it to the fields of its levers.",
    ]
    if wanted.namespaces:
        said += [
            f"Did the actor have every namespace before? Take that away in {where}:",
            f"{kubectl} delete clusterrolebinding,clusterrole gangboard-actor",
        ]
    if not wanted.policy_version:
        said.append(_NO_POLICIES)
    elif not cluster:
        said.append(
            "For Kubernetes 1.36 and later. With --cluster it is made for what that cluster serves "
            "and for the levers that are switched on there."
        )
    if wanted.policy_version and not wanted.binds_hold:
        said.append(_NOT_BOUND)
    if not wanted.parallelism:
        said.append("Pausing Jobs by parallelism 0 is not in it: manage.py set_lever.")
    return _comment(said)


def _ending(wanted: PermissionOptions, cluster: str, context: str) -> str:
    commands = kubeconfig_commands(cluster or "NAME", context)
    where = f"in cluster {cluster}" if cluster else "in the cluster of kubectl's current context"
    note = f"Then make the kubeconfigs of both accounts {where} and hand them to gangboard:"
    text = f"---\n{_comment([note])}#\n" + "".join(f"#   {line}\n" for line in commands)
    if not wanted.policy_version or wanted.binds_hold:
        return text
    apply = command_line(in_context(("kubectl", "apply", "-f", "-"), context))
    note = "Put Holds in force, not earlier than 40 seconds after the rest:"
    return f"{text}#\n{_comment([note])}#\n#   manage.py print_rbac --hold | {apply}\n"


def _comment(paragraphs: list[str]) -> str:
    lines = [line for text in paragraphs for line in (wrap(text, _WIDTH - 2) or [""])]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _names(namespaces: tuple[str, ...]) -> str:
    return f"namespace{'s' if len(namespaces) > 1 else ''} {', '.join(namespaces)}"


def chart_files(wanted: PermissionOptions) -> dict[str, str]:
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
