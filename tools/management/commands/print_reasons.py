"""`manage.py print_reasons`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.reasons_docs import catalogue_lines, read_examples, write_catalogue


class Command(PrintingCommand):
    help = "Print the catalogue of sentences: every reason, with what it says and advises, as Markdown."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--into",
            metavar="FILE",
            type=Path,
            help="write it into this paper, between <!-- reasons --> and <!-- end -->",
        )

    def handle(self, *_: Any, into: Path | None, **__: Any) -> None:
        if into is not None:
            into.write_text(write_catalogue(into.read_text()))
            return
        self.stdout.write("\n".join(catalogue_lines(read_examples())))
