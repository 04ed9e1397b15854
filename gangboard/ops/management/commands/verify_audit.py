"""`manage.py verify_audit [--head NUMBER:HASH]`."""

import argparse
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand
from gangboard.store.audit import verify


class Command(DatabaseCommand):
    help = "Verify the audit from its first row to its last. Ends with an error that names the first row that was changed. Prints the head: stored elsewhere and given to a later run, it also shows that the whole chain was not rewritten."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--head", type=_read_head, metavar="NUMBER:HASH", help="as an earlier run printed it"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        result = verify(options["head"])
        if result.broken:
            raise CommandError(
                f"The audit is broken. {result.broken} Rows before that fit: {result.rows}."
            )
        self.stdout.write(f"The audit is whole. Rows: {result.rows}. Its head:")
        self.stdout.write(f"{result.rows}:{result.digest}")


def _read_head(text: str) -> tuple[int, str]:
    number, _, digest = text.partition(":")
    if not number.isdecimal() or len(digest) != 64:
        raise argparse.ArgumentTypeError("a head is NUMBER:HASH, as verify_audit prints it")
    return int(number), digest.lower()
