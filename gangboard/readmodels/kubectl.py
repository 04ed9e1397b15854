"""The commands with which a person looks at a gang by hand."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.diagnosis import registry
from gangboard.domain.shell import is_safe_in_shell
from gangboard.domain.verdict import NOT_STARTING
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.members import MemberRow


@dataclass(frozen=True, slots=True)
class KubectlCommand:
    """One command to copy."""

    meaning: str
    text: str


def commands_for(row: GangRow) -> tuple[KubectlCommand, ...]:
    """Return the commands for a gang; none when a name of it is not fit for a shell.

    A kind is written `kind.version.group`, which kubectl takes for every API group: four
    different kinds are called PodGroup.
    """
    kind = row.kind.lower()
    if row.api_group:
        kind = f"{kind}.{row.api_version}.{row.api_group}"
    if not is_safe_in_shell(kind, row.namespace, row.name, row.uid):
        return ()
    place = f"-n {row.namespace}"
    label = _selector_label(row)
    pods = f"kubectl get pods {place} -l {label}={row.name} -o wide"
    return (
        KubectlCommand("The object", f"kubectl get {kind} {row.name} {place} -o yaml"),
        KubectlCommand("What its controller says", f"kubectl describe {kind} {row.name} {place}"),
        *((KubectlCommand("Its pods and where they are", pods),) if label else ()),
        KubectlCommand(
            "What happened to it",
            f"kubectl get events {place} --field-selector involvedObject.uid={row.uid}",
        ),
    )


def member_command(namespace: str, member: MemberRow) -> KubectlCommand | None:
    """Return the command that shows what a pod says; None when a name in it is not fit for a shell.

    One without a node, and one whose container never ran, has no logs: its events say what it waits for.
    """
    if not is_safe_in_shell(namespace, member.name, *filter(None, [member.container])):
        return None
    where = f"-n {namespace} {member.name}"
    stuck = member.label == NOT_STARTING
    if not member.node or (stuck and member.exit_code is None):
        return KubectlCommand("Describe", f"kubectl describe pod {where}")
    container = f" -c {member.container}" if member.container else ""
    # What waits to be started again has nothing but the words of its last end.
    earlier = " --previous" if stuck else ""
    return KubectlCommand("Log command", f"kubectl logs {where}{container}{earlier}")


def _selector_label(row: GangRow) -> str:
    """Return the label that selects the pods of a gang by its name, or empty where its kind has none."""
    kind = registry.owner_kind(row.api_group, row.kind)
    if kind is None:
        return ""
    return kind.selector_label or kind.pod_label or kind.child_label
