"""The commands with which a person looks at a gang by hand."""

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
    """Its kubeconfig context. If empty, the page shows the cluster's name beside the command."""

    def command(self, meaning: str, template: str, *names: str) -> KubectlCommand | None:
        """Return a command of kubectl for this cluster; None where a name is not fit for a shell."""
        words = command(template, *names)
        if not words:
            return None
        beside = "" if is_context(self.context) else f" in cluster {self.cluster}"
        return KubectlCommand(meaning + beside, command_line(in_context(words, self.context)))


def commands_for(row: GangRow) -> tuple[KubectlCommand, ...]:
    """Return the commands for a gang; none when a name of it is not fit for a shell.

    A kind is written `kind.version.group`, which kubectl takes for every API group: four
    different kinds are called PodGroup.
    """
    kind = row.kind.lower()
    if row.api_group:
        kind = f"{kind}.{row.api_version}.{row.api_group}"
    place, label = KubectlPlace(row.cluster, row.context), _selector_label(row)
    own = (kind, row.name, row.namespace)
    pods = f"kubectl get pods -n {{}} -l {label}={{}} -o wide"
    events = "kubectl get events -n {} --field-selector involvedObject.uid={}"
    found = (
        place.command("The object", "kubectl get {} {} -n {} -o yaml", *own),
        place.command("What its controller says", "kubectl describe {} {} -n {}", *own),
        place.command("Its pods and where they are", pods, row.namespace, row.name)
        if label
        else None,
        place.command("What happened to it", events, row.namespace, row.uid),
    )
    # One that is not fit for a shell makes the others doubtful.
    is_safe = all(found[index] is not None for index in (0, 3))
    return tuple(one for one in found if one is not None) if is_safe else ()


def member_command(namespace: str, member: MemberRow, place: KubectlPlace) -> KubectlCommand | None:
    """Return the command that shows what a pod says; None when a name in it is not fit for a shell.

    One without a node, and one whose container never ran, has no logs: its events say what it waits for.
    """
    stuck = member.label == NOT_STARTING
    names = (namespace, member.name)
    if not member.node or (stuck and member.exit_code is None):
        return place.command("Describe", "kubectl describe pod -n {} {}", *names)
    container = (member.container,) if member.container else ()
    # What waits to be started again has nothing but the words of its last end.
    earlier = " --previous" if stuck else ""
    template = f"kubectl logs -n {{}} {{}}{' -c {}' if container else ''}{earlier}"
    return place.command("Log command", template, *names, *container)


def _selector_label(row: GangRow) -> str:
    """Return the label that selects the pods of a gang by its name, or empty where its kind has none."""
    kind = registry.owner_kind(row.api_group, row.kind)
    if kind is None:
        return ""
    return kind.selector_label or kind.pod_label or kind.child_label
