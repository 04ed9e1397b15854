"""`manage.py check_manifest -f FILE`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from gangboard.decode.manifests import MAX_BYTES, Document, ManifestError, read_manifests
from gangboard.domain.check import CheckVerdict
from gangboard.logs import one_line
from gangboard.ops.database_command import DatabaseCommand
from gangboard.pages.check.queries import build_result, with_namespace
from gangboard.pages.check.rows import CheckResult, CheckRow
from gangboard.pages.core.serializers import serializer_of
from gangboard.polling.checks.engine import check_cluster
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster

OPERATOR = Viewer(0, "manage.py", (Scope(None, "", "viewer"),), may_act=False)
"""No permission check: anyone who can run this command can read the database."""
WOULD_NOT_RUN = 1
CANNOT_TELL = 2


class Command(DatabaseCommand):
    help = (
        "Check manifests before they are created: would each gang be admitted and placed now, what"
        " would it wait for, and what would help. It reads only the database and creates nothing."
        " Exit code 0: every gang would run now in one of the clusters. 1: a gang would wait or be"
        " blocked in all of them. 2: gangboard cannot tell, or the input is bad."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "-f",
            "--filename",
            required=True,
            metavar="FILE",
            help="YAML or JSON with one or more objects; - reads the standard input",
        )
        parser.add_argument(
            "--cluster",
            action="append",
            default=[],
            metavar="CLUSTER",
            help="check only this cluster; repeat it for several. The default is all clusters.",
        )
        parser.add_argument(
            "-n", "--namespace", default="", help="namespace of objects that name none"
        )
        parser.add_argument(
            "--json", action="store_true", help="print the answer of POST checks/ instead of text"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            documents = with_namespace(
                read_manifests(_text(options["filename"])), options["namespace"]
            )
        except (ManifestError, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error), returncode=CANNOT_TELL) from error
        result = _check(documents, options["cluster"])
        if options["json"]:
            data = serializer_of(CheckResult)(result, context={"now": timezone.now()}).data
            self.stdout.write(json.dumps(data, indent=2, default=str))
        else:
            for line in _lines(result):
                self.stdout.write(one_line(line))
        code = exit_code(result)
        if code:
            sys.exit(code)


def _text(filename: str) -> str:
    """Return the text of a file or of the standard input. Raises OSError and UnicodeDecodeError."""
    if filename == "-":
        return sys.stdin.read(MAX_BYTES + 1)
    with Path(filename).open(encoding="utf-8") as file:
        return file.read(MAX_BYTES + 1)


def _check(documents: Sequence[Document], names: Sequence[str]) -> CheckResult:
    clusters = list(Cluster.objects.filter(name__in=names) if names else Cluster.objects.all())
    missing = sorted(set(names) - {cluster.name for cluster in clusters})
    if missing:
        known = ", ".join(Cluster.objects.values_list("name", flat=True)) or "none"
        raise CommandError(
            f"there is no cluster named {missing[0]!r}; known clusters: {known}",
            returncode=CANNOT_TELL,
        )
    if not clusters:
        raise CommandError("gangboard watches no cluster", returncode=CANNOT_TELL)
    now = timezone.now()
    answers = [check_cluster(cluster, documents, now) for cluster in clusters]
    return build_result(answers, viewer=OPERATOR, now=now)


def exit_code(result: CheckResult) -> int:
    """Return 0 if every gang would run now in a cluster, 2 if gangboard cannot tell about one, else 1."""
    best = [CheckVerdict(gang.best.verdict) for gang in result.gangs]
    if all(verdict is CheckVerdict.WOULD_RUN for verdict in best):
        return 0 if best else CANNOT_TELL
    return CANNOT_TELL if CheckVerdict.UNKNOWN in best else WOULD_NOT_RUN


def _lines(result: CheckResult) -> list[str]:
    lines: list[str] = []
    for gang in result.gangs:
        for row in gang.rows:
            lines += _lines_of(row)
    return [*lines, *(f"Note: {note}" for note in result.notes)]


def _lines_of(row: CheckRow) -> list[str]:
    subject = f"{row.kind} {row.namespace}/{row.name} " if row.kind else ""
    lines = [f"{subject}in {row.cluster}: {row.face.label} ({row.code}). {row.message}"]
    lines += [f"  Fault in {fault.field}: {fault.sentence}" for fault in row.faults]
    if row.behind:
        lines.append(f"  Behind: {', '.join(before.text for before in row.behind)}")
    if row.typical_wait is not None:
        wait = row.typical_wait
        lines.append(f"  Typical wait: {wait.text}, by {wait.gangs} similar gangs.")
    lines += [f"  Next step: {step.sentence}" for step in row.advice]
    return [*lines, *(f"  Note: {note}" for note in row.notes)]
