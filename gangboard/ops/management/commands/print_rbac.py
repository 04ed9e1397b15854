"""`manage.py print_rbac [--cluster C] [--namespace N …]`, then `--hold`; or `--chart FOLDER`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from gangboard.actions.permissions.manifests import chart_files, hold_text, yaml_text
from gangboard.ops.printing import PrintingCommand
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.prometheus_sources import EVERY_CLUSTER, source_of
from gangboard.store import clusters, levers


class Command(PrintingCommand):
    help = (
        "Print what gangboard needs in a cluster, for kubectl apply -f -: the accounts of the reader "
        "and the actor with their roles, the Hold and its policy, and the policies that limit the "
        "actor to the fields of its levers. Ends with the commands that create both kubeconfigs and put Holds in force."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--cluster",
            help="fitted to what this watched cluster serves and to the levers that are switched on there",
        )
        parser.add_argument(
            "--namespace",
            nargs="+",
            action="extend",
            default=[],
            metavar="N",
            help="let the actor act in these only (default: in all); the reader reads all",
        )
        parser.add_argument(
            "--hold",
            action="store_true",
            help="print only the binding that puts Holds in force; apply it 40 s after the rest",
        )
        parser.add_argument(
            "--chart",
            type=Path,
            metavar="FOLDER",
            help="write the files of the Helm chart into this folder instead",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str | None = options["cluster"]
        namespaces = tuple(dict.fromkeys(options["namespace"]))
        try:
            for namespace in namespaces:
                clusters.check_dns_label(namespace, "a namespace")
            permissions = _read_permissions(name, namespaces)
            if options["hold"]:
                self.stdout.write(hold_text(permissions), ending="")
                return
            if options["chart"] is not None:
                _write_files(
                    options["chart"],
                    replace(permissions, binds_hold=True, logs=True, cordon=True, prometheus=None),
                )
                return
        except clusters.ClusterError as error:
            raise CommandError(str(error)) from error
        context = clusters.find_cluster(name=name).context if name else ""
        self.stdout.write(yaml_text(permissions, name or "", context), ending="")


def _write_files(folder: Path, permissions: PermissionOptions) -> None:
    for name, text in chart_files(permissions).items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{folder / name} cannot be written: {error.strerror}") from error


def _read_permissions(name: str | None, namespaces: tuple[str, ...]) -> PermissionOptions:
    """Return the permissions for a cluster. A cluster without discovery is treated like any other."""
    if name is None:
        wanted = PermissionOptions(
            namespaces=namespaces,
            topology_keys=settings.TOPOLOGY_LABELS,
            binds_hold=False,
            cordon=settings.CORDON,
        )
    else:
        wanted = levers.read_wanted(clusters.find_cluster(name=name), namespaces)
    source = source_of(name or EVERY_CLUSTER, settings.PROMETHEUS_SOURCES)
    service = (source.namespace, source.service) if source and source.service else None
    return replace(wanted, logs=settings.LOGS, prometheus=service)
