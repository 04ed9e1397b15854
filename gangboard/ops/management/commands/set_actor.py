"""`manage.py set_actor NAME --kubeconfig F [--context C]`, or `--service-account FOLDER`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.kube.errors import CredentialError
from gangboard.ops.database_command import DatabaseCommand
from gangboard.ops.kubeconfigs import expiry_sentence, read_access, save_actor
from gangboard.ops.who import command_author
from gangboard.polling.cluster_access import Access, mounted_access
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = (
        "Let gangboard act on a watched cluster with the account of a kubeconfig, or give it new "
        "credentials for that. manage.py print_rbac --cluster NAME prints the account, its rights "
        "and limits, and how to make the kubeconfig."
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
        parser.add_argument("--context", help="which of its contexts (default: the current one)")
        parser.add_argument(
            "--allow-token-file",
            action="store_true",
            help="let the kubeconfig name a file (tokenFile) whose text is sent to its server",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        try:
            clusters.find_cluster(name=name)
            access = _access(options)
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


def _access(options: dict[str, Any]) -> Access:
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
