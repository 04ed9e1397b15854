"""An incomplete or duplicate member stops the process at start-up, with the module's name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gangboard.plugins.discovery import RegistryError, find_members
from gangboard.plugins.grouping_api import GroupingAPI

HEAD = "from gangboard.plugins.grouping_api import GroupingAPI\n"
TOYS = f"{HEAD}class Toys(GroupingAPI):\n    label = 'Toys'\n    group = 'toys.example'\n"


def find(monkeypatch: pytest.MonkeyPatch, folder: Path, **files: str) -> tuple[GroupingAPI, ...]:
    """Return the members of a package with these files."""
    package = ModuleType("toy_groups")
    package.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "toy_groups", package)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"toy_groups.{name}", raising=False)
    return find_members(package, GroupingAPI, "group")


def test_a_member_with_its_required_fields_is_discovered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (toys,) = find(monkeypatch, tmp_path, toys=TOYS)
    assert (toys.label, toys.resources, toys.marks) == ("Toys", (), ())


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"toys": ""}, "toy_groups.toys has no subclass of GroupingAPI with a group"),
        (
            {"toys": f"{HEAD}class Toys(GroupingAPI):\n    group = 'toys.example'\n"},
            "toy_groups.toys.Toys has no label",
        ),
        (
            {"first": TOYS, "second": TOYS},
            "toy_groups.second registers 'toys.example' a second time",
        ),
    ],
)
def test_an_incomplete_or_duplicate_member_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], why: str
) -> None:
    with pytest.raises(RegistryError, match=why):
        find(monkeypatch, tmp_path, **files)
