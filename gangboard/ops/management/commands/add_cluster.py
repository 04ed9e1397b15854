"""`manage.py add_cluster NAME --kubeconfig F [--context C] [--actor-kubeconfig F]`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.kube.errors import CredentialError
from gangboard.ops.database_command import DatabaseCommand
from gangboard.ops.kubeconfigs import Access, expiry_sentence, read_access, save_access, save_actor
from gangboard.ops.who import command_author
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = (
        "Watch a cluster with server, CA and token or client certificate of a kubeconfig; or give "
        "a watched one new credentials for the same address. It is read-only unless "
        "--actor-kubeconfig is given, or manage.py set_actor is run. The cluster need not be "
        "reachable now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="how gangboard calls it: a DNS label such as east-1")
        parser.add_argument("--kubeconfig", required=True, type=Path, metavar="FILE")
        parser.add_argument("--context", help="which of its contexts (default: the current one)")
        parser.add_argument(
            "--actor-kubeconfig",
            type=Path,
            metavar="FILE",
            help="of the account that suspends and resumes; its current context is used",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        try:
            clusters.check_dns_label(name, "a cluster")
            access = read_access(options["kubeconfig"], context=options["context"])
            _refuse_other_server(name, access)
            file = options["actor_kubeconfig"]
            actor = read_access(file) if file is not None else None
            _refuse_other_actor(access, actor)
            new = save_access(name, access, by=command_author())
            if actor is not None:
                save_actor(name, actor, by=command_author())
        except (CredentialError, clusters.ClusterError) as error:
            raise CommandError(str(error)) from error
        self._say(name, access, new)
        if actor is not None:
            self.stdout.write("gangboard may act on it.")
            self._print(expiry_sentence(actor, "The actor's credentials"))

    def _say(self, name: str, access: Access, new: bool) -> None:
        self.stdout.write(
            f"Cluster {name} at {access.server} is watched from now on."
            if new
            else f"Cluster {name} at {access.server} has new credentials."
        )
        self._print(expiry_sentence(access))

    def _print(self, sentence: str) -> None:
        if sentence:
            self.stdout.write(sentence)


def _refuse_other_server(name: str, access: Access) -> None:
    """A name that is taken by another server is a mistake more often than a move."""
    if name in clusters.cluster_names():
        server = clusters.find_cluster(name=name).server
        if server != access.server:
            raise CommandError(
                f"cluster {name} is at {server} and the kubeconfig says {access.server}; "
                f"choose another name, or run manage.py remove_cluster {name} first"
            )


def _refuse_other_actor(access: Access, actor: Access | None) -> None:
    """Found before anything is stored: a cluster is not half added."""
    if actor is not None and actor.server != access.server:
        raise CommandError(
            f"the kubeconfig says {access.server} and the actor's says {actor.server}; "
            "both identities must name the same address"
        )
