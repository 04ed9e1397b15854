"""`manage.py add_cluster NAME --kubeconfig F [--context C] [--actor-kubeconfig F]`, or `--in-cluster`."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from gangboard.kube.errors import CredentialError, KubeError
from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.ops.kubeconfigs import (
    STANDARD_INPUT,
    actor_lines,
    expiry_sentence,
    read_access,
    save_access,
    save_actor,
    step_lines,
    unreachable_lines,
)
from gangboard.pages.clusters.trial_steps import trial_steps
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.polling.actor_trial import try_actor
from gangboard.polling.cluster_trial import Access, Trial, in_cluster_access, try_cluster
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = (
        "Watch a cluster with server, CA and token or client certificate of a kubeconfig; or give "
        "a watched one new credentials for the same address. It is read-only unless "
        "--actor-kubeconfig is given, or manage.py set_actor is run. The command tests the connection first and prints the result. A second name for a cluster is refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", help="name of the cluster in gangboard: a DNS label such as east-1"
        )
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--kubeconfig", type=Path, metavar="FILE", help="- reads it from standard input"
        )
        source.add_argument(
            "--in-cluster",
            action="store_true",
            help="the cluster this pod runs in, with the service account of the pod",
        )
        parser.add_argument(
            "--context", help="context of the kubeconfig (default: the current one)"
        )
        parser.add_argument(
            "--actor-kubeconfig",
            type=Path,
            metavar="FILE",
            help="of the account that suspends and resumes; its current context is used",
        )
        parser.add_argument(
            "--allow-token-file",
            action="store_true",
            help="let a kubeconfig name a file (tokenFile) whose text is sent to its server",
        )
        parser.add_argument(
            "--without-trying",
            action="store_true",
            help="do not test the connection now; a second name for the cluster is then not noticed",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        try:
            clusters.check_cluster_name(name)
            access, actor = _read_accesses(options)
            clusters.refuse_other_server(name, access.server)
            _refuse_other_actor(access, actor)
            trial = None if options["without_trying"] else self._try(name, access)
            if actor is not None and not options["without_trying"]:
                self._try_actor(name, actor)
            uid = trial.uid if trial is not None else ""
            new = save_access(name, access, by=command_author(), uid=uid)
            if actor is not None:
                save_actor(name, actor, by=command_author())
        except (CredentialError, clusters.ClusterError) as error:
            raise CommandError(str(error)) from error
        self._print_result(name, access, new)
        if actor is not None:
            self.stdout.write("gangboard may act on it.")
            self._print(expiry_sentence(actor, "The actor's credentials"))

    def _try(self, name: str, access: Access) -> Trial | None:
        """Print the cluster's answer and return it, or None if the cluster cannot be read now.

        An unreachable cluster is watched all the same, because a poll worker tries again. Raises ClusterError
        for a second name or for another cluster.
        """
        try:
            trial = try_cluster(access)
        except KubeError as error:
            self.stdout.write(
                f"Cluster {name} cannot be read now: {error.sentence} gangboard tries again by itself. If the "
                f"address is wrong, run manage.py remove_cluster {name} and add it again."
            )
            self._print_steps(access, error.code)
            return None
        clusters.refuse_second_name(name, trial.uid)
        clusters.refuse_other_cluster(name, trial.uid)
        self.stdout.write(f"Cluster {name} {trial.sentence}.")
        if trial.identity_problem:
            self.stdout.write(
                f"{trial.identity_problem} manage.py print_rbac has the right for that."
            )
        self._print_steps(access, "", trial)
        return trial

    def _try_actor(self, name: str, actor: Access) -> None:
        """Print which levers the actor may use. The cluster need not be watched yet."""
        try:
            lines = actor_lines(
                name, actor.context, try_actor(actor, PermissionOptions(cordon=settings.CORDON))
            )
        except KubeError as error:
            lines = unreachable_lines(name, actor, error)
        for line in lines:
            self.stdout.write(line)

    def _print_steps(self, access: Access, code: str, trial: Trial | None = None) -> None:
        """Print the commands that fix the problems of the trial, as the page shows them."""
        steps = trial_steps(
            code=code,
            server=access.server,
            context=access.context,
            unreadable=trial.unreadable if trial is not None else (),
            uid_known=trial is None or bool(trial.uid),
        )
        for line in step_lines(steps):
            self.stdout.write(line)

    def _print_result(self, name: str, access: Access, new: bool) -> None:
        self.stdout.write(
            f"Cluster {name} at {access.server} is watched from now on."
            if new
            else f"Cluster {name} at {access.server} has new credentials."
        )
        self._print(expiry_sentence(access))

    def _print(self, sentence: str) -> None:
        if sentence:
            self.stdout.write(sentence)


def _read_accesses(options: dict[str, Any]) -> tuple[Access, Access | None]:
    """Return both identities; the actor's is None if not given. Raises CredentialError."""
    file, actor_file = options["kubeconfig"], options["actor_kubeconfig"]
    token_file: bool = options["allow_token_file"]
    if file == actor_file == STANDARD_INPUT:
        raise CommandError("standard input can hold one kubeconfig; give the other as a file")
    if options["in_cluster"]:
        if options["context"]:
            raise CommandError("--context chooses from a kubeconfig; --in-cluster reads none")
        access = in_cluster_access()
    else:
        access = read_access(file, context=options["context"], token_file=token_file)
    if actor_file is None:
        return access, None
    return access, read_access(actor_file, token_file=token_file)


def _refuse_other_actor(access: Access, actor: Access | None) -> None:
    """Raise CommandError for an actor of another address, before the cluster is stored."""
    if actor is not None and actor.server != access.server:
        raise CommandError(
            f"{_address(access)} and the actor's says {actor.server}; "
            "both identities must name the same address"
        )


def _address(access: Access) -> str:
    source = "the kubeconfig says" if access.cluster_name else "this pod's cluster is at"
    return f"{source} {access.server}"
