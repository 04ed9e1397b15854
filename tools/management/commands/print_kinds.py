"""`manage.py print_kinds`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.kinds_docs import TABLES, write_tables


class Command(PrintingCommand):
    help = "Print the tables of kinds and grouping APIs that the registries make, as Markdown."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--into",
            metavar="FILE",
            nargs="+",
            type=Path,
            help="write them into these papers, between <!-- kinds NAME --> and <!-- end -->",
        )

    def handle(self, *_: Any, into: list[Path] | None, **__: Any) -> None:
        for paper in into or ():
            paper.write_text(write_tables(paper.read_text()))
        if not into:
            self.stdout.write("\n\n".join(f"{name}\n\n{make()}" for name, make in TABLES.items()))
