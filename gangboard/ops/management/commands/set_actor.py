"""`manage.py set_actor NAME --kubeconfig F [--context C]`, or `--service-account FOLDER`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.kube.errors import CredentialError, KubeError
from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.ops.kubeconfigs import (
    actor_lines,
    expiry_sentence,
    read_access,
    save_actor,
    unreachable_lines,
)
from gangboard.polling.actor_trial import try_actor_of
from gangboard.polling.cluster_trial import Access, mounted_access
from gangboard.store import clusters
from gangboard.store.models import Cluster


class Command(DatabaseCommand):
    help = (
        "Let gangboard act on a watched cluster with the account of a kubeconfig, or give it new "
        "credentials for that. The command tests the account first and prints which levers it may use; it writes nothing to the cluster. manage.py print_rbac --cluster NAME prints the account, its "
        "rights and limits, and how to create the kubeconfig."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--kubeconfig", type=Path, metavar="FILE", help="- reads it from standard input"
        )
        source.add_argument(
            "--service-account",
            type=Path,
            metavar="FOLDER",
            help="where the token Secret of an account of this pod's cluster is mounted; the token is stored",
        )
        parser.add_argument(
            "--context", help="context of the kubeconfig (default: the current one)"
        )
        parser.add_argument(
            "--allow-token-file",
            action="store_true",
            help="let the kubeconfig name a file (tokenFile) whose text is sent to its server",
        )
        parser.add_argument(
            "--without-trying",
            action="store_true",
            help="do not test now what the account may do",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        try:
            cluster = clusters.find_cluster(name=name)
            access = _read_access(options)
            clusters.refuse_other_address(cluster, access.server)
            if not options["without_trying"]:
                self._try(cluster, access)
            new = save_actor(name, access, by=command_author())
        except (CredentialError, clusters.ClusterError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"gangboard may act on cluster {name} from now on."
            if new
            else f"The actor of cluster {name} has new credentials."
        )
        expiry = expiry_sentence(access)
        if expiry:
            self.stdout.write(expiry)

    def _try(self, cluster: Cluster, access: Access) -> None:
        """Print which levers the account may use. Raises ClusterError for another cluster.

        An unreachable cluster is no reason to refuse, because each action checks it again.
        """
        name = cluster.name
        try:
            trial = try_actor_of(cluster, access)
        except KubeError as error:
            for line in unreachable_lines(name, access, error):
                self.stdout.write(line)
            return
        clusters.refuse_second_name(name, trial.uid)
        clusters.refuse_other_cluster(name, trial.uid)
        for line in actor_lines(name, access.context or cluster.context, trial):
            self.stdout.write(line)


def _read_access(options: dict[str, Any]) -> Access:
    folder: Path | None = options["service_account"]
    if folder is None:
        return read_access(
            options["kubeconfig"],
            context=options["context"],
            token_file=options["allow_token_file"],
        )
    if options["context"]:
        raise CommandError("--context chooses from a kubeconfig; --service-account reads none")
    return mounted_access(folder)
