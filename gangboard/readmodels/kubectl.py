"""Commands of kubectl with which a user inspects a gang."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.shell import command, command_line, in_context, is_context
from gangboard.domain.verdict import NOT_STARTING
from gangboard.plugins import registry
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.members import MemberRow


@dataclass(frozen=True, slots=True)
class KubectlCommand:
    """One command to copy."""

    meaning: str
    text: str


@dataclass(frozen=True, slots=True)
class KubectlPlace:
    """The cluster in which a command runs."""

    cluster: str
    context: str = ""
    """Its kubeconfig context. If it is empty, the page shows the cluster's name beside the command."""

    def command(self, meaning: str, template: str, *names: str) -> KubectlCommand | None:
        """Return a kubectl command for this cluster, or None if a name is unsafe in a shell."""
        arguments = command(template, *names)
        if not arguments:
            return None
        suffix = "" if is_context(self.context) else f" in cluster {self.cluster}"
        return KubectlCommand(meaning + suffix, command_line(in_context(arguments, self.context)))


def commands_for(row: GangRow) -> tuple[KubectlCommand, ...]:
    """Return the commands for a gang, or none if one of its names is unsafe in a shell.

    Kinds are written as `kind.version.group`, because four API groups have a kind named PodGroup.
    """
    kind = row.kind.lower()
    if row.api_group:
        kind = f"{kind}.{row.api_version}.{row.api_group}"
    place, label = KubectlPlace(row.cluster, row.context), _selector_label(row)
    own = (kind, row.name, row.namespace)
    pods = f"kubectl get pods -n {{}} -l {label}={{}} -o wide"
    events = "kubectl get events -n {} --field-selector involvedObject.uid={}"
    commands = (
        place.command("The object", "kubectl get {} {} -n {} -o yaml", *own),
        place.command("Status and events of the object", "kubectl describe {} {} -n {}", *own),
        place.command("Its pods and their nodes", pods, row.namespace, row.name) if label else None,
        place.command("Its events", events, row.namespace, row.uid),
    )
    # An unsafe name makes the other commands doubtful.
    is_safe = all(commands[index] is not None for index in (0, 3))
    return tuple(command for command in commands if command is not None) if is_safe else ()


def member_command(namespace: str, member: MemberRow, place: KubectlPlace) -> KubectlCommand | None:
    """Return the command for the log of a pod, or None if a name is unsafe in a shell.

    A pod without a node, or whose container never ran, has no log. The command then describes the pod, which
    shows its events.
    """
    stuck = member.label == NOT_STARTING
    names = (namespace, member.name)
    if not member.node or (stuck and member.exit_code is None):
        return place.command("Describe", "kubectl describe pod -n {} {}", *names)
    container = (member.container,) if member.container else ()
    # A container that waits for a restart has only the log of its last run.
    earlier = " --previous" if stuck else ""
    template = f"kubectl logs -n {{}} {{}}{' -c {}' if container else ''}{earlier}"
    return place.command("Log command", template, *names, *container)


def _selector_label(row: GangRow) -> str:
    """Return the label that selects the pods of a gang by its name. Empty if its kind has none."""
    kind = registry.owner_kind(row.api_group, row.kind)
    if kind is None:
        return ""
    return kind.selector_label or kind.pod_label or kind.child_label
