"""`manage.py add_cluster NAME --kubeconfig F [--context C]`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gangboard.kube.errors import CredentialError
from gangboard.ops.kubeconfigs import Access, read_access, save_access
from gangboard.store import clusters


class Command(BaseCommand):
    help = (
        "Watch a cluster, read-only, with server, CA and token or client certificate of a "
        "kubeconfig; or give a watched one new credentials for the same address. The cluster need "
        "not be reachable now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="how gangboard calls it: a DNS label such as east-1")
        parser.add_argument("--kubeconfig", required=True, type=Path, metavar="FILE")
        parser.add_argument("--context", help="which of its contexts (default: the current one)")

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        try:
            clusters.check_dns_label(name, "a cluster")
            access = read_access(options["kubeconfig"], context=options["context"])
            _refuse_other_server(name, access)
            new = save_access(name, access)
        except (CredentialError, clusters.ClusterError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Cluster {name} at {access.server} is watched from now on."
            if new
            else f"Cluster {name} at {access.server} has new credentials."
        )
        if access.expires_at is not None:
            self.stdout.write(
                f"These credentials expire at {access.expires_at:%Y-%m-%d %H:%M} UTC."
            )


def _refuse_other_server(name: str, access: Access) -> None:
    """A name that is taken by another server is a mistake more often than a move."""
    if name in clusters.cluster_names():
        server = clusters.find_cluster(name=name).server
        if server != access.server:
            raise CommandError(
                f"cluster {name} is at {server} and the kubeconfig says {access.server}; "
                f"choose another name, or run manage.py remove_cluster {name} first"
            )
