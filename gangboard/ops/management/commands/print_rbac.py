"""`manage.py print_rbac [--cluster C] [--namespace N …]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.actions.permissions.names import Wanted
from gangboard.actions.permissions.printing import yaml_text
from gangboard.ops.printing import PrintingCommand
from gangboard.store import clusters, levers


class Command(PrintingCommand):
    help = (
        "Print what gangboard needs in a cluster, for kubectl apply -f -: the accounts of the reader "
        "and the actor with their roles, the Hold and its policy, and the policies that limit the "
        "actor to the fields of its levers. Ends with the commands that make both kubeconfigs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--cluster",
            help="for what this watched cluster serves, with the levers that are switched on there",
        )
        parser.add_argument(
            "--namespace",
            nargs="+",
            action="extend",
            default=[],
            metavar="N",
            help="let the actor act in these only (default: in all); the reader reads all",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str | None = options["cluster"]
        namespaces = tuple(dict.fromkeys(options["namespace"]))
        try:
            for namespace in namespaces:
                clusters.check_dns_label(namespace, "a namespace")
            wanted = _wanted(name, namespaces)
        except clusters.ClusterError as error:
            raise CommandError(str(error)) from error
        context = clusters.find_cluster(name=name).context if name else ""
        self.stdout.write(yaml_text(wanted, name or "", context), ending="")


def _wanted(name: str | None, namespaces: tuple[str, ...]) -> Wanted:
    """Return what a cluster is to allow; one that was never asked what it serves is like any other."""
    if name is None:
        return Wanted(namespaces=namespaces)
    cluster = clusters.find_cluster(name=name)
    served = levers.read_served(cluster)
    return Wanted(
        policy_version=served.policy_version,
        not_served=served.not_served,
        parallelism=cluster.parallelism_lever,
        namespaces=namespaces,
    )
