"""What the papers name is there: files, commands, addresses of links, settings."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from gangboard import env
from gangboard.plugins import registry

ROOT = Path(__file__).resolve().parents[2]
PAPERS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|md|yaml|yml|sh)|[\w.-]+(/[\w.-]+)+/?")
_WHERE = ("", "docs", "gangboard", "simulator", "tools", "tests")
"""Folders below which papers name files; a bare name of a file may be anywhere in the code."""
_API_GROUPS = {resource.group for resource in registry.resources()}
"""They can end as a shell script does."""
_OURS = ("gangboard", "simulator", "tools", "tests", "docs", "templates", "static")

_COMPOSE_FORM = r"docker compose exec (?:-T )?web python manage\.py ([a-z][^`|<>#)\n]*)"
_OF_THE_CLIENT = {"GANGBOARD_SERVER", "GANGBOARD_TOKEN"}
"""The command line client reads them, and no process of the server."""
_NOT_IN_COMPOSE = {"up", "migrate", "print_kinds", "print_reasons"} | {
    name for name in get_commands() if name.startswith("benchmark_")
}
"""The services do the first two, and the others are for developers."""

papers = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)


def _quoted(paper: Path) -> set[str]:
    """Return what stands in backticks in its prose."""
    prose = re.sub(r"```.*?```", "", paper.read_text(), flags=re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", prose))


def _is_missing(text: str) -> bool:
    """Whether a text that looks like a path of ours leads nowhere."""
    if text in _API_GROUPS:
        return False
    if _PATH.fullmatch(text) is None or any((ROOT / place / text).exists() for place in _WHERE):
        return False
    if "/" not in text:
        return not any(any((ROOT / place).rglob(text)) for place in ("gangboard", "tests"))
    first = text.split("/")[0]
    rooms = {folder.name for folder in (ROOT / "gangboard").iterdir() if folder.is_dir()}
    return first in _OURS or (first in rooms and Path(text).suffix == ".py")


@papers
def test_files_that_are_named_exist(paper: Path) -> None:
    assert [text for text in sorted(_quoted(paper)) if _is_missing(text)] == []


@papers
def test_links_lead_somewhere(paper: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", paper.read_text())
    ours = [link for link in links if "://" not in link]
    assert [link for link in ours if not (paper.parent / link).exists()] == []


@papers
def test_commands_that_are_named_exist(paper: Path) -> None:
    text, makefile = paper.read_text(), (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    told = set(re.findall(r"(?:`|^ {4}|^|&& )make ([a-z]+)", text, re.MULTILINE))
    assert told - targets == set()
    assert set(re.findall(r"manage\.py ([a-z]\w+)", text)) - set(get_commands()) == set()
    modules = re.findall(r"python -m ([\w.]+)", text)
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_every_command_has_a_compose_form_that_it_takes() -> None:
    said = "".join(paper.read_text() for paper in PAPERS if paper.name != "CHANGELOG.md")
    named = set(re.findall(r"manage\.py ([a-z]\w+)", said))
    forms = re.findall(_COMPOSE_FORM, _text("docs/install.md"), re.MULTILINE)
    assert named - {form.split()[0] for form in forms} == _NOT_IN_COMPOSE
    for form in forms:
        name, *arguments = shlex.split(form)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(arguments)  # raises CommandError


def test_every_setting_is_in_the_paper_as_print_settings_says_it() -> None:
    lines = re.findall(r"^\| `(\w+)` \| (.*?) \|", _text("docs/settings.md"), re.MULTILINE)
    printed = StringIO()
    call_command("print_settings", stdout=printed)
    told = re.findall(r"^(\w+)=.*\n    (.*)$", printed.getvalue(), re.MULTILINE)
    assert dict(lines) == dict(told)


def test_every_setting_that_the_code_reads_is_one_that_print_settings_lists() -> None:
    code = "".join(path.read_text() for path in (ROOT / "gangboard").rglob("*.py"))
    named = set(re.findall(r'"(GANGBOARD_[A-Z_]+|DATABASE_URL|REDIS_URL)"', code))
    assert named == {variable.name for variable in env.variables()}
    elsewhere = [*ROOT.glob("docker-compose.yml"), *ROOT.glob("Dockerfile"), *PAPERS]
    for path in elsewhere:
        told = set(re.findall(r"\bGANGBOARD_[A-Z_]+[A-Z]", path.read_text()))
        assert {name.removesuffix("_FILE") for name in told} <= named | _OF_THE_CLIENT, path


def _text(path: str) -> str:
    return (ROOT / path).read_text()


def _names() -> Iterator[tuple[str, str]]:
    """Yield (name, room) of the modules and public classes of all rooms."""
    for file in sorted((ROOT / "gangboard").glob("*/**/*.py")):
        room, *folders = file.relative_to(ROOT / "gangboard").parts[:-1]
        if "migrations" in folders:
            continue
        yield from ((name, room) for name in (*folders[-1:], file.stem) if name != "__init__")
        classes = re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE)
        yield from ((name, room) for name in classes)


def test_names_that_several_rooms_have_are_told_with_the_reason() -> None:
    rooms: dict[str, set[str]] = {}
    for name, room in _names():
        rooms.setdefault(name, set()).add(room)
    several = {name for name, its in rooms.items() if len(its) > 1 and not name.startswith("_")}
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## Names that several rooms have")[2]
    assert sorted(several - set(re.findall(r"`([\w/]+)`", section))) == []
