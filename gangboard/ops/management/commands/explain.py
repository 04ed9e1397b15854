"""`manage.py explain CLUSTER/NAMESPACE/KIND[.GROUP]/NAME`."""

import argparse
import shutil
import sys
import textwrap
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from gangboard.logs import one_line
from gangboard.ops.database_command import DatabaseCommand
from gangboard.pages.gang import text_report as explain
from gangboard.pages.gang.history import find_deleted_gang
from gangboard.pages.gang.queries import gang_detail
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer

NARROWEST = 40
OPERATOR = Viewer(0, "manage.py", (Scope(None, "", "viewer"),), may_act=False)
"""No permission check: anyone who can run this command can read the database."""


class Command(DatabaseCommand):
    help = "Explain the state of a gang: the verdict with its next steps, evidence, members, where its waiting pods could go, and its history. It reads only the database and no cluster. The last line shows the age of the data."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "gang",
            type=_address,
            metavar=explain.FORMAT,
            help="such as east/research/JobSet/llama-ft; the API group of the kind where two "
            "groups have one (PodGroup.scheduling.k8s.io)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            gang_id = explain.find_gang(options["gang"], viewer=OPERATOR)
        except explain.NotFoundError as error:
            raise CommandError(str(error)) from error
        detail = gang_detail(viewer=OPERATOR, gang_id=gang_id, now=now)
        clusters = read_freshness(viewer=OPERATOR, now=now)
        freshness = next(
            (
                candidate
                for candidate in clusters.values()
                if candidate.cluster == options["gang"].cluster
            ),
            None,
        )
        if detail is None:
            deleted = find_deleted_gang(viewer=OPERATOR, gang_id=gang_id, now=now)
            if deleted is not None:
                self.stdout.write(explain.explain_deleted(deleted, now))
                return
        if detail is None or freshness is None:
            raise CommandError("the gang was deleted while it was looked up")
        for line in explain.explain(detail, freshness=freshness, now=now):
            self.stdout.write(_wrap(one_line(line)))


def _address(text: str) -> explain.GangAddress:
    try:
        return explain.read_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _wrap(line: str) -> str:
    """Return the line wrapped to the terminal; unchanged if a program reads it."""
    if not sys.stdout.isatty():
        return line
    width = max(NARROWEST, shutil.get_terminal_size().columns)
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
