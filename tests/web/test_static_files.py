"""What is served under /static/: what our pages load, and nothing that installed packages bring along."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from django.test import Client

from tests.personas import Person


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
