"""The tables of kinds in the docs have a row for every kind and match the registries."""

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
PAGES = ("README.md", "docs/kinds.md")
KINDS = [kind for kind in registry.owner_kinds() if kind.stands_alone or kind.makes_gangs]


@pytest.mark.parametrize("page", PAGES)
def test_the_docs_have_the_tables_of_print_kinds(page: str) -> None:
    text = (ROOT / page).read_text()
    assert text == write_tables(text), f"run: manage.py print_kinds --into {' '.join(PAGES)}"


def test_every_table_is_in_the_docs() -> None:
    text = "".join((ROOT / page).read_text() for page in PAGES)
    assert [name for name in TABLES if f"<!-- kinds {name} -->" not in text] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.label))
def test_a_kind_has_all_notes(kind: OwnerKind) -> None:
    notes = kind.notes
    missing = [name for name in ("gang", "units", "limits", "tested") if not getattr(notes, name)]
    assert missing == [], f"set them in notes=KindNotes(…) of {kind.label}: docs/adding-a-kind.md"


@pytest.mark.parametrize("api", registry.grouping_apis(), ids=lambda api: str(api.group))
def test_a_grouping_api_has_all_notes(api: GroupingAPI) -> None:
    missing = [name for name in ("members", "tested") if not getattr(api.notes, name)]
    assert missing == [], (
        f"set them in notes=GroupingNotes(…) of {api.label}: docs/adding-a-kind.md"
    )


@pytest.mark.parametrize("system", registry.queue_systems(), ids=lambda system: str(system.label))
def test_an_admission_system_names_the_tested_versions(system: QueueSystem) -> None:
    assert system.tested


def test_a_table_is_written_only_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- kinds queues -->\nold\n<!-- end -->\nafter\n")
    call_command("print_kinds", "--into", str(page))
    lines = page.read_text().splitlines()
    assert (lines[:2], lines[-2:]) == (
        ["before", "<!-- kinds queues -->"],
        ["<!-- end -->", "after"],
    )
    assert "old" not in lines
    assert lines[2] == "| System | Objects | Suspended by | Tested with |"


def test_print_kinds_prints_every_table_with_its_name() -> None:
    printed = StringIO()
    call_command("print_kinds", stdout=printed)
    assert [line for line in printed.getvalue().splitlines() if line in TABLES] == list(TABLES)
