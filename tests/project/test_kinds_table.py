"""Every kind has its line in the tables of the papers, and these are as the registries make them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from gangboard.plugins import registry
from gangboard.plugins.grouping_api import GroupingAPI
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.queue_system import QueueSystem
from tools.kinds_docs import TABLES, write_tables

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("README.md", "docs/kinds.md")
KINDS = [kind for kind in registry.owner_kinds() if kind.stands_alone or kind.makes_gangs]


@pytest.mark.parametrize("paper", PAPERS)
def test_tables_of_the_papers_are_what_the_command_makes(paper: str) -> None:
    text = (ROOT / paper).read_text()
    assert text == write_tables(text), f"run: manage.py print_kinds --into {' '.join(PAPERS)}"


def test_every_table_stands_in_a_paper() -> None:
    text = "".join((ROOT / paper).read_text() for paper in PAPERS)
    assert [name for name in TABLES if f"<!-- kinds {name} -->" not in text] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.label))
def test_a_kind_says_what_only_it_knows(kind: OwnerKind) -> None:
    notes = kind.notes
    silent = [name for name in ("gang", "units", "limits", "tested") if not getattr(notes, name)]
    assert silent == [], f"say it in notes=KindNotes(…) of {kind.label}: docs/adding-a-kind.md"


@pytest.mark.parametrize("api", registry.grouping_apis(), ids=lambda api: str(api.group))
def test_a_grouping_api_says_what_only_it_knows(api: GroupingAPI) -> None:
    silent = [name for name in ("members", "tested") if not getattr(api.notes, name)]
    assert silent == [], f"say it in notes=GroupingNotes(…) of {api.label}: docs/adding-a-kind.md"


@pytest.mark.parametrize("system", registry.queue_systems(), ids=lambda system: str(system.label))
def test_an_admission_system_says_how_it_was_tested(system: QueueSystem) -> None:
    assert system.tested


def test_a_table_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    paper = tmp_path / "paper.md"
    paper.write_text("before\n<!-- kinds queues -->\nold\n<!-- end -->\nafter\n")
    call_command("print_kinds", "--into", str(paper))
    lines = paper.read_text().splitlines()
    assert (lines[:2], lines[-2:]) == (
        ["before", "<!-- kinds queues -->"],
        ["<!-- end -->", "after"],
    )
    assert "old" not in lines
    assert lines[2] == "| System | Objects | Suspended by | Tested with |"


def test_the_command_prints_every_table_by_its_name() -> None:
    printed = StringIO()
    call_command("print_kinds", stdout=printed)
    assert [line for line in printed.getvalue().splitlines() if line in TABLES] == list(TABLES)
