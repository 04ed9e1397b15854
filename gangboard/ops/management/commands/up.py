"""`manage.py up [--kubeconfig F] [--host H] [--port P]`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.kube.errors import CredentialError
from gangboard.ops.launch import LaunchError, launch
from gangboard.ops.printing import PrintingCommand
from gangboard.store.clusters import ClusterError


class Command(PrintingCommand):
    help = (
        "Run everything on this machine: web server, poll worker, beat and, where no cluster is "
        "configured, two simulated clusters. Prints the address and a one-time sign-in link on the "
        "last line; Ctrl-C stops everything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--kubeconfig",
            type=Path,
            metavar="FILE",
            help="watch the cluster of its current context, named after that context",
        )
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="address to listen on (default: %(default)s); names by which other machines "
            "reach it go into GANGBOARD_HOSTS",
        )
        parser.add_argument(
            "--port",
            type=int,
            default=8000,
            help="port to listen on, or the next free one (default: %(default)s)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            launch(
                host=options["host"],
                port=options["port"],
                kubeconfig=options["kubeconfig"],
                report_progress=self._report_progress,
                announce=self._announce,
            )
        except (LaunchError, CredentialError, ClusterError) as error:
            raise CommandError(str(error)) from error

    def _report_progress(self, sentence: str) -> None:
        self.stderr.write(sentence, self.style.NOTICE)

    def _announce(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
