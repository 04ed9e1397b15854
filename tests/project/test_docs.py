"""The docs name only files, commands, links and settings that exist."""

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
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|md|yaml|yml|sh)|[\w.-]+(/[\w.-]+)+/?")
_FOLDERS = ("", "docs", "gangboard", "simulator", "tools", "tests")
"""Folders below which pages name files. A bare file name may be anywhere in the code."""
_API_GROUPS = {resource.group for resource in registry.resources()}
"""An API group such as `ray.io` can look like the name of a file."""
_TOP_FOLDERS = ("gangboard", "simulator", "tools", "tests", "docs", "templates", "static")

_COMPOSE_FORM = r"docker compose exec (?:-T )?web python manage\.py ([a-z][^`|<>#)\n]*)"
_CLIENT_SETTINGS = {"GANGBOARD_SERVER", "GANGBOARD_TOKEN"}
"""Settings of the command line client, which the server does not read."""
_NOT_IN_COMPOSE = {"up", "migrate", "print_kinds", "print_reasons"} | {
    name for name in get_commands() if name.startswith("benchmark_")
}
"""Services run the first two commands, and the others are for developers."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def _code_spans(page: Path) -> set[str]:
    """Return the texts in backticks, outside of code blocks."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", prose))


def _is_missing(text: str) -> bool:
    """Return whether a text looks like a path of this repository and does not exist."""
    if text in _API_GROUPS:
        return False
    if _PATH.fullmatch(text) is None or any((ROOT / place / text).exists() for place in _FOLDERS):
        return False
    if "/" not in text:
        return not any(any((ROOT / place).rglob(text)) for place in ("gangboard", "tests"))
    first = text.split("/")[0]
    packages = {folder.name for folder in (ROOT / "gangboard").iterdir() if folder.is_dir()}
    return first in _TOP_FOLDERS or (first in packages and Path(text).suffix == ".py")


@every_page
def test_named_files_exist(page: Path) -> None:
    assert [text for text in sorted(_code_spans(page)) if _is_missing(text)] == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)", page.read_text()):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@every_page
def test_named_commands_exist(page: Path) -> None:
    text, makefile = page.read_text(), (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:`|^ {4}|^|&& )make ([a-z]+)", text, re.MULTILINE))
    assert named - targets == set()
    assert set(re.findall(r"manage\.py ([a-z]\w+)", text)) - set(get_commands()) == set()
    modules = re.findall(r"python -m ([\w.]+)", text)
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_every_command_has_a_valid_compose_form() -> None:
    text = "".join(page.read_text() for page in PAGES if page.name != "CHANGELOG.md")
    named = set(re.findall(r"manage\.py ([a-z]\w+)", text))
    pages = _text("docs/install.md") + _text("docs/operations.md")
    forms = re.findall(_COMPOSE_FORM, pages, re.MULTILINE)
    assert named - {form.split()[0] for form in forms} == _NOT_IN_COMPOSE
    for form in forms:
        name, *arguments = shlex.split(form)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(arguments)  # raises CommandError


def test_settings_page_has_the_meanings_of_print_settings() -> None:
    lines = re.findall(r"^\| `(\w+)` \| (.*?) \|", _text("docs/settings.md"), re.MULTILINE)
    printed = StringIO()
    call_command("print_settings", stdout=printed)
    settings = re.findall(r"^(\w+)=.*\n    (.*)$", printed.getvalue(), re.MULTILINE)
    assert dict(lines) == dict(settings)


def test_print_settings_lists_every_setting_that_the_code_reads() -> None:
    code = "".join(path.read_text() for path in (ROOT / "gangboard").rglob("*.py"))
    read = set(re.findall(r'"(GANGBOARD_[A-Z_]+|DATABASE_URL|REDIS_URL)"', code))
    assert read == {variable.name for variable in env.variables()}
    for path in [*ROOT.glob("docker-compose.yml"), *ROOT.glob("Dockerfile"), *PAGES]:
        named = set(re.findall(r"\bGANGBOARD_[A-Z_]+[A-Z]", path.read_text()))
        assert {name.removesuffix("_FILE") for name in named} <= read | _CLIENT_SETTINGS, path


def test_the_example_of_a_kind_is_the_tested_one() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", _text("docs/adding-a-kind.md"), re.M | re.S)
    assert blocks == [_text("tests/project/new_kind/plushie.py")]


def test_a_decision_has_a_context_a_decision_and_a_consequence() -> None:
    decisions = _text("docs/decisions.md").split("\n### ")[1:]
    for decision in decisions:
        title, _, body = decision.partition("\n")
        parts = re.findall(r"^- \*\*(\w+)\.\*\*", body, re.MULTILINE)
        assert parts == ["Context", "Decision", "Consequence"], title


def _text(path: str) -> str:
    return (ROOT / path).read_text()


def _names() -> Iterator[tuple[str, str]]:
    """Yield (name, package) of the modules and public classes of all packages."""
    for file in sorted((ROOT / "gangboard").glob("*/**/*.py")):
        package, *folders = file.relative_to(ROOT / "gangboard").parts[:-1]
        if "migrations" in folders:
            continue
        names = (*folders[-1:], file.stem)
        yield from ((name, package) for name in names if name != "__init__")
        classes = re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE)
        yield from ((name, package) for name in classes)


def test_names_of_several_packages_are_in_the_architecture_page() -> None:
    packages: dict[str, set[str]] = {}
    for name, package in _names():
        packages.setdefault(name, set()).add(package)
    shared = {name for name, found in packages.items() if len(found) > 1}
    public = {name for name in shared if not name.startswith("_")}
    section = _text("docs/architecture.md").partition("## Names that several packages have")[2]
    assert sorted(public - set(re.findall(r"`([\w/]+)`", section))) == []
