"""Files under /static/: those our pages load, without files of installed packages."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.contrib.staticfiles import finders
from django.core.files.storage import FileSystemStorage
from django.test import Client

from gangboard.pages.core.middleware.static_files import files_digest
from tests.personas import Person

YEAR = "max-age=315360000, public, immutable"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "rest_framework/js/default.js",
        "rest_framework/css/bootstrap.min.css",
        "rest_framework/docs/js/api.js",
        "admin/css/base.css",
        "admin/js/core.js",
        "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css",
    ],
)
def test_files_of_packages_that_no_page_loads_are_not_served(path: str) -> None:
    with closing(Client().get(f"/static/{path}")) as answer:
        assert answer.status_code == 404


def test_everything_that_a_page_loads_is_served(owner: Person) -> None:
    page = owner.client.get("/").content.decode()
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert any("htmx" in path for path in loaded)
    assert any(path.endswith(".css") for path in loaded)
    for path in loaded:
        with closing(Client().get(path)) as answer:
            assert answer.status_code == 200, path
            assert answer["Cache-Control"] == YEAR, path


def _modules(path: str) -> set[str]:
    """Return the addresses of the modules that a browser loads for one: imports are relative."""
    with closing(Client().get(path)) as answer:
        assert answer["Cache-Control"] == YEAR, path
        text = b"".join(answer).decode()
    results = {urljoin(path, name) for name in re.findall(r'from "([^"]+)"', text)}
    return {path}.union(*map(_modules, results))


def test_imported_modules_are_cached_as_long(owner: Person) -> None:
    page = owner.client.get("/").content.decode()
    (first,) = re.findall(r'type="module" src="([^"]+)"', page)
    assert len({path.rsplit("/", 1)[1] for path in _modules(first)}) >= 8


@pytest.mark.django_db
@pytest.mark.parametrize("prefix", ["", "0123456789ab/"])
def test_a_page_of_another_release_gets_the_files_for_a_minute(prefix: str) -> None:
    with closing(Client().get(f"/static/{prefix}css/board.css")) as answer:
        assert answer.status_code == 200
        assert answer["Cache-Control"] == "max-age=60, public"


class Folder:
    """A finder with one folder of static files."""

    def __init__(self, folder: Path) -> None:
        self._storage = FileSystemStorage(folder)

    def list(self, _: object) -> list[tuple[str, FileSystemStorage]]:
        return [
            (path.name, self._storage) for path in sorted(Path(self._storage.location).iterdir())
        ]


def test_the_digest_depends_on_content_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finders, "get_finders", lambda: [Folder(tmp_path)])
    digests = []
    for name, text in (("a.js", "1"), ("a.js", "2"), ("a.js", "1"), ("b.js", "1")):
        (tmp_path / "a.js").unlink(missing_ok=True)
        (tmp_path / name).write_text(text)
        digests.append(files_digest.__wrapped__())
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3
